//! The text of a program with the files that it includes.
use crate::error::{CompileError, Position};
use std::path::Path;

/// Maximum number of included files, and of bytes of the whole text.
const MAX_FILES: usize = 64;

/// Why a program could not be read.
#[derive(Debug)]
pub enum SourceError {
    /// A file is not there.
    Read(String, std::io::Error),
    /// More than 64 files, or the text exceeds 1 MiB. A file that includes itself ends here.
    TooLarge(String),
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceError::Read(file, error) => write!(f, "cannot read {file}: {error}"),
            SourceError::TooLarge(file) => write!(
                f,
                "{file}: the program exceeds {MAX_FILES} files or {} bytes: does a file include \
                 itself?",
                crate::lexer::LONGEST
            ),
        }
    }
}

impl std::error::Error for SourceError {}

/// A program with the files that it includes by `#include "file.p4"`, in one text.
///
/// ```no_run
/// use martlet_p4c_swx::{Source, compile};
///
/// let source = Source::read("upf_pna.p4".as_ref())?;
/// let program = compile(source.text()).map_err(|error| source.explain(&error))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Source {
    text: String,
    files: Vec<String>,
    /// For each line of the text: its file and its line there, from 1.
    lines: Vec<(usize, u32)>,
}

impl Source {
    /// Reads a program. Files that it includes are relative to the file that includes them.
    pub fn read(file: &Path) -> Result<Source, SourceError> {
        let mut source = Source::default();
        source.include(file)?;
        Ok(source)
    }

    fn include(&mut self, file: &Path) -> Result<(), SourceError> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| SourceError::Read(name.clone(), error))?;
        if self.files.len() == MAX_FILES || self.text.len() + text.len() > crate::lexer::LONGEST {
            return Err(SourceError::TooLarge(name));
        }
        let number = self.files.len();
        self.files.push(name);
        for (line, at) in text.lines().zip(1..) {
            if let Some(included) = included(line) {
                self.include(&file.with_file_name(included))?;
            } else {
                self.text.push_str(line);
                self.text.push('\n');
                self.lines.push((number, at));
            }
        }
        Ok(())
    }

    /// The whole text, which [`crate::compile`] takes.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files, each as often as it is included, in the order of their inclusion.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// An error with its file, line and column: `upf_headers.p4:12:5: what is wrong`.
    pub fn explain(&self, error: &CompileError) -> String {
        match self.lines.get((error.at.line as usize).saturating_sub(1)) {
            Some((file, line)) => {
                let at = Position { line: *line, column: error.at.column };
                format!(
                    "{}:{}",
                    self.files[*file],
                    CompileError { at, message: error.message.clone() }
                )
            }
            None => error.to_string(),
        }
    }
}

/// The file of a line `#include "file.p4"`.
fn included(line: &str) -> Option<&str> {
    line.trim().strip_prefix("#include")?.trim().strip_prefix('"')?.strip_suffix('"')
}
