//! `initialize`: the handshake. What was not understood in the configuration is told right after it.

use agentd_protocol::methods::handshake::{InitializeParams, InitializeResponse};
use agentd_protocol::notification::ServerNotification;
use tokio::sync::oneshot;

use crate::rpc::conn::{ClientHello, ConnHandle, Outgoing};
use crate::rpc::error::RpcError;
use crate::rpc::table::{Answer, Ctx};
use crate::rpc::user_agent;
use crate::threads::now_ms;

pub(super) async fn handle(ctx: Ctx, params: InitializeParams) -> Result<Answer<InitializeResponse>, RpcError> {
    let agent = user_agent(&params.client_info.name);
    if !ctx.conn.initialize(hello(params)) {
        return Err(RpcError::already_initialized());
    }
    let response = InitializeResponse {
        user_agent: agent,
        codex_home: ctx.daemon.home.path().display().to_string(),
        platform_family: "unix".into(),
        platform_os: std::env::consts::OS.into(),
    };
    if ctx.daemon.config.warnings.is_empty() {
        return Ok(Answer::now(response));
    }
    let (queued, response_queued) = oneshot::channel();
    let (conn, daemon) = (ctx.conn, ctx.daemon.clone());
    ctx.daemon.tracker.spawn(async move {
        if response_queued.await.is_ok() {
            warn(&conn, &daemon.config.warnings);
        }
    });
    Ok(Answer::then(response, queued))
}

fn hello(params: InitializeParams) -> ClientHello {
    let capabilities = params.capabilities.unwrap_or_default();
    ClientHello {
        name: params.client_info.name,
        experimental: capabilities.experimental_api.unwrap_or(false),
        opted_out: capabilities
            .opt_out_notification_methods
            .unwrap_or_default()
            .into_iter()
            .collect(),
    }
}

fn warn(conn: &ConnHandle, warnings: &[String]) {
    for warning in warnings {
        let notification = ServerNotification::ConfigWarning {
            summary: warning.clone(),
            details: None,
        };
        conn.send(Outgoing::notification(&notification, now_ms()));
    }
}
