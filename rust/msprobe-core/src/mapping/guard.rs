//! Files that are cut short while they are mapped.
//!
//! Touching a page that its file no longer has raises SIGBUS, which ends the process. Our handler puts zeros in the place of
//! what is gone and marks the mapping as cut, so that the reader goes on, finds nonsense, and learns from [`Mapping::is_cut`]
//! what happened. Signals that have nothing to do with our mappings go to whoever would have got them without us.

use std::ffi::c_int;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::Once;

use memmap2::Mmap;

/// Mappings at a time; files beyond that are read.
const MOST: usize = 1 << 12;

/// Addresses of one mapping. Handlers may only look at atomics.
struct Region {
    taken: AtomicBool,
    start: AtomicUsize,
    /// One behind the last address; 0 while the region guards nothing.
    end: AtomicUsize,
    cut: AtomicBool,
}

static REGIONS: [Region; MOST] =
    [const { Region { taken: AtomicBool::new(false), start: AtomicUsize::new(0), end: AtomicUsize::new(0), cut: AtomicBool::new(false) } };
        MOST];

/// What was installed before us; set once, before our handler can run.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());

/// A mapped file whose shrinking does no harm.
#[derive(Debug)]
pub struct Mapping {
    map: Mmap,
    region: &'static Region,
}

impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Region").field("cut", &self.cut).finish_non_exhaustive()
    }
}

impl Mapping {
    /// Guards `map`. `None` if there are too many mappings already.
    pub(super) fn new(map: Mmap) -> Option<Mapping> {
        install();
        let free = |region: &&Region| region.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let region = REGIONS.iter().find(free)?;
        region.cut.store(false, Ordering::Relaxed);
        region.start.store(map.as_ptr() as usize, Ordering::Relaxed);
        region.end.store(map.as_ptr() as usize + map.len(), Ordering::Release);
        Some(Mapping { map, region })
    }

    /// Whether the file was found to be shorter than when it was mapped. The bytes that are gone read as zeros.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.region.cut.load(Ordering::Acquire)
    }

    /// Tells the system that the bytes will be read from front to back. Only a hint; nothing depends on it.
    pub fn will_be_read_in_order(&self) {
        let _ = self.map.advise(memmap2::Advice::Sequential);
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.region.end.store(0, Ordering::Release);
        self.region.taken.store(false, Ordering::Release);
    }
}

/// Installs the handler, once for the process.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: both structures are plain data for which zeros are a valid value, and are filled before they are used; the
        // handler only does what a signal handler may.
        unsafe {
            let before = Box::leak(Box::new(std::mem::zeroed::<libc::sigaction>()));
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), before) != 0 {
                return;
            }
            BEFORE.store(before, Ordering::Release);
            let mut ours = std::mem::zeroed::<libc::sigaction>();
            ours.sa_sigaction = on_bus_error as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&raw mut ours.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut());
        }
    });
}

/// The handler.
extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes a valid `info` to a handler with SA_SIGINFO; for positive codes of SIGBUS it holds an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // Codes that are not positive: somebody sent the signal.
    if code > 0 && REGIONS.iter().any(|region| region.blank(address)) {
        return;
    }
    pass_on(signal, info, context);
}

impl Region {
    /// Puts zeros in the place of everything from the page of `address` on, if that is in this region.
    fn blank(&self, address: usize) -> bool {
        let end = self.end.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Relaxed);
        if address < start || address >= end {
            return false;
        }
        self.cut.store(true, Ordering::Release);
        // SAFETY: plain system calls, which are allowed in a handler. The pages replaced lie in a mapping of ours, which is
        // alive since somebody has just read from it; it stays of the same size, readable, and is unmapped as a whole.
        unsafe {
            let errno = *libc::__errno_location();
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let from = address / page * page;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            let done = libc::mmap(from as *mut libc::c_void, end - from, libc::PROT_READ, flags, -1, 0);
            *libc::__errno_location() = errno;
            done != libc::MAP_FAILED
        }
    }
}

/// Does what would have happened without us.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.load(Ordering::Acquire);
    // SAFETY: `before` was filled by the system and is never changed. A handler that is neither default nor ignored has the
    // signature that its flags say.
    unsafe {
        let handler = (*before).sa_sigaction;
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            // The access is repeated after our return, or the signal sent again, and meets what is put back here.
            libc::sigaction(signal, before, std::ptr::null_mut());
            if (*info).si_code <= 0 {
                libc::raise(signal);
            }
        } else if (*before).sa_flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) = std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{map, open_regular};
    use std::fs::File;
    use std::io::Write;

    #[test]
    fn bytes_of_a_file_that_was_cut_short_read_as_zeros() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let size = 100_000;
        let whole = || {
            File::create(&path).unwrap().write_all(&vec![7; size]).unwrap();
            let (file, length) = open_regular(&path).unwrap().unwrap();
            map(&file, length).unwrap()
        };
        let (first, second) = (whole(), whole());
        assert!(first.iter().chain(second.iter()).all(|byte| *byte == 7));
        File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
        assert_eq!((second[9], second[size - 1]), (7, 0));
        assert!(second.is_cut() && !first.is_cut(), "only what was touched is known to be cut");
        assert!(first[..10].iter().all(|byte| *byte == 7) && first[10..].iter().all(|byte| *byte == 0));
        assert!(first.is_cut());
        drop((first, second));
        let third = whole();
        assert!(!third.is_cut() && third.iter().all(|byte| *byte == 7), "a place that is used again is clean");
    }
}
