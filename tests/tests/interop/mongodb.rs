//! A database with MongoDB's protocol for free5GC's functions: FerretDB over SQLite.
use crate::external_program::{Change, ExternalProgram, build_changed};
use anyhow::Result;
use martlet_tests::eventually;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Host and port of the database.
pub const DATABASE: &str = "127.0.0.24:27017";

/// FerretDB refuses the collation with which free5GC compares names without regard to case.
/// Martlet's names have one case, so the database ignores it.
const COLLATION: Change = Change {
    module: "github.com/FerretDB/FerretDB",
    files: &[
        "internal/handler/common/find.go",
        "internal/handler/common/count.go",
        "internal/handler/common/update_params.go",
        "internal/handler/common/delete_params.go",
        "internal/handler/common/findandmodify.go",
    ],
    from: "`ferretdb:\"collation,unimplemented\"`",
    to: "`ferretdb:\"collation,ignored\"`",
};

/// Builds the database once for all tests.
pub fn build() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| build_changed("mongodb", ".", Some(&COLLATION))).clone()
}

/// Starts a database that keeps its data and its log in a folder.
pub async fn start(program: &Path, folder: &Path) -> Result<ExternalProgram> {
    let data = folder.join("mongodb-data");
    std::fs::create_dir_all(&data)?;
    let database = ExternalProgram::start(program, &[Path::new(DATABASE), &data], folder)?;
    let listens = || std::net::TcpStream::connect(DATABASE).ok().map(|_| ());
    eventually("the database listens", listens, || database.output()).await?;
    Ok(database)
}
