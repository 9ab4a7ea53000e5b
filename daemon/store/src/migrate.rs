//! Brings a database to the schema this build knows, and refuses one from the future.
//!
//! Owns the list of migrations and `PRAGMA user_version`. A migration that was released is never edited or removed.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{During, StoreError};

const MIGRATIONS: &[&str] = &[
    include_str!("../../../schema/sql/0001_initial.sql"),
    include_str!("../../../schema/sql/0002_forks.sql"),
];

/// Highest schema version this build knows.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Runs what is missing, each migration in a transaction of its own.
pub(crate) fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    let found = version(conn)?;
    if found > SCHEMA_VERSION {
        return Err(StoreError::NewerDatabase {
            found,
            supported: SCHEMA_VERSION,
        });
    }
    let done = usize::try_from(found).unwrap_or(0);
    for (version, sql) in (1i64..).zip(MIGRATIONS).skip(done) {
        let tx = conn
            .transaction_with_behavior(TransactionBehavior::Exclusive)
            .during("migrate the database")?;
        tx.execute_batch(sql).during("migrate the database")?;
        tx.pragma_update(None, "user_version", version)
            .during("migrate the database")?;
        tx.commit().during("migrate the database")?;
    }
    Ok(())
}

fn version(conn: &Connection) -> Result<i64, StoreError> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
        .during("read the schema version")
}
