//! `permissionProfile/list`: there are none; sandbox modes say what is allowed.

use agentd_protocol::methods::config::{PermissionProfileListParams, PermissionProfileListResponse};

use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};

pub(super) async fn handle(
    _: Ctx,
    _: PermissionProfileListParams,
) -> Result<Answer<PermissionProfileListResponse>, RpcError> {
    Ok(Answer::now(PermissionProfileListResponse::default()))
}
