//! A database with MongoDB's protocol for free5GC's functions: FerretDB over SQLite.
use crate::external_program::{Change, Edit, ExternalProgram, build_changed};
use anyhow::{Result, ensure};
use martlet_tests::eventually;
use std::io::{Read, Write};
use std::net::TcpStream;
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
    let listens = || TcpStream::connect(DATABASE).ok().map(|_| ());
    eventually("the database listens", listens, || database.output()).await?;
    Ok(database)
}

/// A value of a document.
pub enum Value<'a> {
    Text(&'a str),
    Number(i32),
    Document(&'a [(&'a str, Value<'a>)]),
    Array(&'a [(&'a str, Value<'a>)]),
}

/// A document in MongoDB's BSON.
fn document(members: &[(&str, Value<'_>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in members {
        let (kind, bytes) = match value {
            Value::Number(number) => (0x10, number.to_le_bytes().to_vec()),
            Value::Text(text) => {
                let length = (text.len() as u32 + 1).to_le_bytes();
                (0x02, [&length, text.as_bytes(), &[0]].concat())
            }
            Value::Document(members) => (0x03, document(members)),
            Value::Array(members) => (0x04, document(members)),
        };
        body.push(kind);
        body.extend([name.as_bytes(), &[0]].concat());
        body.extend(bytes);
    }
    let length = (body.len() as u32 + 5).to_le_bytes();
    [&length[..], &body, &[0]].concat()
}

/// Adds a document to a collection of free5GC's database (OP_MSG with the command `insert`).
pub fn insert(collection: &str, members: &[(&str, Value<'_>)]) -> Result<()> {
    let command = document(&[
        ("insert", Value::Text(collection)),
        ("documents", Value::Array(&[("0", Value::Document(members))])),
        ("$db", Value::Text("free5gc")),
    ]);
    // Length, request, response, OP_MSG; then flags and the kind of the section.
    let header = [command.len() as u32 + 21, 1, 0, 2013].map(u32::to_le_bytes).concat();
    let mut connection = TcpStream::connect(DATABASE)?;
    connection.write_all(&[&header[..], &[0; 5], &command].concat())?;
    let mut length = [0; 4];
    connection.read_exact(&mut length)?;
    let mut response = vec![0; u32::from_le_bytes(length) as usize - 4];
    connection.read_exact(&mut response)?;
    let inserted = response.windows(7).any(|part| part == b"\x10n\0\x01\0\0\0");
    ensure!(inserted, "{}", String::from_utf8_lossy(&response));
    Ok(())
}
