//! A database with MongoDB's protocol for free5GC's functions: FerretDB over SQLite.
use crate::external_program::{Change, Edit, ExternalProgram, build_changed};
use anyhow::Result;
use martlet_tests::eventually;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Host and port of the database.
pub const DATABASE: &str = "127.0.0.24:27017";

/// The file that matches documents with filters.
const FILTER: &[&str] = &["internal/handler/common/filter.go"];

/// What free5GC's functions need beyond FerretDB.
const CHANGES: Change = Change {
    module: "github.com/FerretDB/FerretDB",
    edits: &[
        // It refuses the collation with which free5GC compares names without regard to case.
        // Martlet's names have one case, so the database ignores it.
        Edit {
            files: &[
                "internal/handler/common/find.go",
                "internal/handler/common/count.go",
                "internal/handler/common/update_params.go",
                "internal/handler/common/delete_params.go",
                "internal/handler/common/findandmodify.go",
            ],
            from: "`ferretdb:\"collation,unimplemented\"`",
            to: "`ferretdb:\"collation,ignored\"`",
        },
        // Its $elemMatch knows operators alone; the NRF describes services by their members.
        Edit {
            files: FILTER,
            from: "if expr.Len() > 1 && !strings.HasPrefix(key, \"$\") {",
            to: "if key == \"\" {",
        },
        Edit {
            files: FILTER,
            from: "\treturn filterFieldExpr(doc, filterKey, filterSuffix, expr)\n",
            to: r#"	if keys := expr.Keys(); len(keys) > 0 && !strings.HasPrefix(keys[0], "$") {
		array := value.(*types.Array)
		for n := 0; n < array.Len(); n++ {
			element, ok := must.NotFail(array.Get(n)).(*types.Document)
			if !ok {
				continue
			}
			if matches, err := FilterDocument(element, expr); matches || err != nil {
				return matches, err
			}
		}
		return false, nil
	}
	return filterFieldExpr(doc, filterKey, filterSuffix, expr)
"#,
        },
    ],
};

/// Builds the database once for all tests.
pub fn build() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| build_changed("mongodb", ".", Some(&CHANGES))).clone()
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
