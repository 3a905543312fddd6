//! What the system's allocator does with freed memory.

/// Freed bytes at the end of a heap that are kept for the next batch, and the largest block that comes from a
/// heap: a scan frees and asks for a few megabytes per batch, and new pages of the system cost it a tenth of
/// its time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: libc::c_int = 16 << 20;

/// Keeps the memory of one batch for the next one, where the allocator would give it back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
pub(crate) fn keep_freed_memory() {
    // SAFETY: `mallopt` only changes numbers of the allocator; no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT);
    }
}

/// Other allocators do as they please.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_freed_memory() {}
