//! Builds a DPDK pipeline from a compiled program.
use crate::error::{SwitchError, checked};
use crate::ffi::{self, Raw};
use martlet_p4c_swx::Spec;
use martlet_p4c_swx::spec::{Match, Scope};
use std::ffi::{CString, c_char};
use std::io::Write;
use std::path::Path;

/// Source and destination of a switch's packets.
#[derive(Debug, Clone, Copy)]
pub enum Ports<'a> {
    /// Injected manually or through sockets; see [`Switch`](crate::Switch).
    Rings,
    /// For benchmarks: replays packets of a pcap file at port 0 endlessly; output is counted and
    /// dropped.
    Memory {
        /// The file.
        pcap: &'a Path,
        /// Maximum number of packets to read from the file.
        packets: u32,
    },
}

/// How a pipeline runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// DPDK interprets the instructions.
    Interpreter,
    /// Machine code, compiled when Martlet was built.
    MachineCode,
}

impl Engine {
    /// The fastest engine of this build.
    pub fn best() -> Engine {
        if LIBRARY.is_some() { Engine::MachineCode } else { Engine::Interpreter }
    }

    /// The name in status and reports.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Interpreter => "interpreter",
            Engine::MachineCode => "machine code",
        }
    }
}

#[cfg(swx_library)]
const LIBRARY: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/pipeline.so")));
#[cfg(not(swx_library))]
const LIBRARY: Option<&[u8]> = None;

fn text(value: &str) -> CString {
    CString::new(value).expect("names have no zeroes")
}

/// Configures and builds the pipeline of `m`.
pub(crate) fn assemble(
    m: *mut Raw,
    spec: &Spec,
    ports: Ports<'_>,
    engine: Engine,
) -> Result<(), SwitchError> {
    let pcap = match ports {
        Ports::Rings => None,
        Ports::Memory { pcap, packets } => Some((text(&pcap.to_string_lossy()), packets)),
    };
    if engine == Engine::MachineCode {
        let library = LIBRARY.ok_or_else(|| {
            SwitchError::Port(
                "this build has no machine code of the pipeline: run \
                 deploy/install/swx-headers.sh and build again, or use --engine interpreter"
                    .into(),
            )
        })?;
        return load(m, library, pcap);
    }
    // SAFETY: `m` is a new switch, and all strings live until the end of each call.
    unsafe {
        match &pcap {
            None => checked(ffi::mswx_ring_ports(m), || "ports".into())?,
            Some((pcap, packets)) => {
                checked(ffi::mswx_memory_ports(m, pcap.as_ptr(), *packets), || {
                    format!("ports on {pcap:?}")
                })?
            }
        }
    }
    interpret(m, spec)
}

/// Loads a pipeline from a shared library that was compiled from DPDK's generated C code.
pub(crate) fn load(
    m: *mut Raw,
    library: &[u8],
    pcap: Option<(CString, u32)>,
) -> Result<(), SwitchError> {
    let name = c"martlet-pipeline";
    let failed = |error: std::io::Error| {
        SwitchError::Port(format!("cannot store the machine code of the pipeline: {error}"))
    };
    let file = nix::sys::memfd::memfd_create(name, nix::sys::memfd::MFdFlags::empty())
        .map_err(|e| failed(e.into()))?;
    let mut file = std::fs::File::from(file);
    file.write_all(library).map_err(failed)?;
    let path = text(&format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file)));
    let (pcap_text, packets) = pcap.map_or((None, 0), |(text, packets)| (Some(text), packets));
    let pcap = pcap_text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    // SAFETY: `m` is a new switch, and the strings live until the end of the call.
    checked(unsafe { ffi::mswx_load(m, path.as_ptr(), pcap, packets) }, || {
        "loading the machine code of the pipeline".into()
    })
}

fn interpret(m: *mut Raw, spec: &Spec) -> Result<(), SwitchError> {
    let lines =
        |instructions: &[String]| instructions.iter().map(|line| text(line)).collect::<Vec<_>>();
    let pointers =
        |lines: &[CString]| lines.iter().map(|line| line.as_ptr()).collect::<Vec<*const c_char>>();
    // SAFETY, for all calls: `m` is a new switch, DPDK copies its arguments, and all strings and
    // arrays live until the end of each call and have the given lengths.
    for of in &spec.structs {
        let names: Vec<CString> = of.fields.iter().map(|(name, _)| text(name)).collect();
        let fields: Vec<ffi::Field> = names
            .iter()
            .zip(&of.fields)
            .map(|(name, (_, bits))| ffi::Field { name: name.as_ptr(), bits: *bits })
            .collect();
        // SAFETY: see above.
        let status = unsafe {
            ffi::mswx_struct(m, text(&of.name).as_ptr(), fields.as_ptr(), fields.len() as u32)
        };
        checked(status, || format!("struct {}", of.name))?;
    }
    for (name, of) in &spec.headers {
        // SAFETY: see above.
        checked(unsafe { ffi::mswx_header(m, text(name).as_ptr(), text(of).as_ptr()) }, || {
            format!("header {name}")
        })?;
    }
    // SAFETY: see above.
    checked(unsafe { ffi::mswx_metadata(m, text(&spec.metadata).as_ptr()) }, || "metadata".into())?;
    for (name, size) in &spec.registers {
        // SAFETY: see above.
        checked(unsafe { ffi::mswx_registers(m, text(name).as_ptr(), *size) }, || {
            format!("registers {name}")
        })?;
    }
    for (name, size) in &spec.meters {
        // SAFETY: see above.
        checked(unsafe { ffi::mswx_meters(m, text(name).as_ptr(), *size) }, || {
            format!("meters {name}")
        })?;
    }
    for action in &spec.actions {
        let lines = lines(&action.instructions);
        let arguments = action.arguments.as_deref().map(text);
        let arguments = arguments.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let pointers = pointers(&lines);
        // SAFETY: see above.
        let status = unsafe {
            ffi::mswx_action(
                m,
                text(&action.name).as_ptr(),
                arguments,
                pointers.as_ptr(),
                pointers.len() as u32,
            )
        };
        checked(status, || format!("action {}", action.name))?;
    }
    for table in &spec.tables {
        let names: Vec<CString> = table.keys.iter().map(|(name, _)| text(name)).collect();
        let keys: Vec<ffi::Key> = names
            .iter()
            .zip(&table.keys)
            .map(|(name, (_, kind))| ffi::Key {
                name: name.as_ptr(),
                wildcard: i32::from(*kind == Match::Wildcard),
            })
            .collect();
        let names: Vec<CString> = table.actions.iter().map(|(name, _)| text(name)).collect();
        let actions: Vec<ffi::TableAction> = names
            .iter()
            .zip(&table.actions)
            .map(|(name, (_, scope))| ffi::TableAction {
                name: name.as_ptr(),
                in_entries: i32::from(*scope != Scope::DefaultOnly),
                by_default: i32::from(*scope != Scope::TableOnly),
            })
            .collect();
        // SAFETY: see above.
        let status = unsafe {
            ffi::mswx_table(
                m,
                text(&table.name).as_ptr(),
                keys.as_ptr(),
                keys.len() as u32,
                actions.as_ptr(),
                actions.len() as u32,
                text(&table.default_action).as_ptr(),
                i32::from(table.constant_default),
                table.size,
            )
        };
        checked(status, || format!("table {}", table.name))?;
    }
    let lines = lines(&spec.apply);
    let pointers = pointers(&lines);
    // SAFETY: see above.
    checked(unsafe { ffi::mswx_apply(m, pointers.as_ptr(), pointers.len() as u32) }, || {
        "the instructions of the pipeline".into()
    })?;
    // SAFETY: see above.
    checked(unsafe { ffi::mswx_build(m) }, || "building the pipeline".into())
}
