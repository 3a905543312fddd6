//! The border of the terminal: whatever the tool prints goes out here, and nowhere else.
//!
//! Text for people, which is all on standard error, tables, `inspect`, `schema` and `verify`, shows characters that
//! would do something to a terminal, or reorder what it shows, as `\x1b` or `\u{202e}`. Data formats are byte for byte
//! what they are, unless standard output is a terminal.
//!
//! Writes can block for as long as a reader likes, and an interrupt ends the tool meanwhile: so they are on threads
//! that nobody has to wait for.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that writes to standard output and error"
)]

use std::borrow::Cow;
use std::error::Error;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, mpsc};

use futures::{Stream, StreamExt, pin_mut};
use tokio::sync::mpsc as queue;
use tokio::task::spawn_blocking;

type Printed = Result<(), Box<dyn Error + Send + Sync>>;

/// What is printed on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Text for people.
    Text,
    /// JSON: on a terminal, characters are escaped so that it stays the same JSON.
    Json,
    /// CSV or TSV, or bytes: on a terminal it is shown like text.
    Data,
}

/// Standard output.
pub(super) struct Output {
    out: BufWriter<Stdout>,
    /// How characters are shown, if they are not written as they are.
    escape: Option<Escape>,
    /// The beginning of a character whose end is still to come.
    begun: Vec<u8>,
    /// The first error of a write: those who format rows may make a text of it.
    failed: Option<io::Error>,
}

/// How a character that must not reach the terminal is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    Text,
    Json,
}

impl Output {
    fn new(content: Content) -> Self {
        let to_terminal = io::stdout().is_terminal();
        let escape = match content {
            Content::Text => Some(Escape::Text),
            Content::Json => to_terminal.then_some(Escape::Json),
            Content::Data => to_terminal.then_some(Escape::Text),
        };
        Self { out: BufWriter::with_capacity(1 << 16, io::stdout()), escape, begun: Vec::new(), failed: None }
    }

    /// Writes what is left, after rows were `printed`.
    fn finish(mut self, printed: Printed) -> Printed {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        write_bytes(&mut self.out, &self.begun)?;
        self.out.flush()?;
        printed
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self.escape {
            None => self.out.write_all(bytes),
            Some(escape) => write_escaped(&mut self.out, escape, &mut self.begun, bytes),
        };
        written.map(|()| bytes.len()).map_err(|error| {
            let kind = error.kind();
            self.failed.get_or_insert(error);
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes `bytes` as UTF-8 text; what is none is shown as `\xff`.
fn write_escaped(out: &mut impl Write, escape: Escape, begun: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    let joined = [begun.as_slice(), bytes].concat();
    begun.clear();
    let mut rest = joined.as_slice();
    while !rest.is_empty() {
        let (text, wrong, behind) = match std::str::from_utf8(rest) {
            Ok(text) => (text, &[][..], &[][..]),
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                let (wrong, behind) = bad.split_at(error.error_len().unwrap_or(0));
                if error.error_len().is_none() {
                    begun.extend_from_slice(bad);
                }
                let behind = if error.error_len().is_none() { &[][..] } else { behind };
                (std::str::from_utf8(good).unwrap_or_default(), wrong, behind)
            }
        };
        out.write_all(escaped(text, escape, &['\n', '\t']).as_bytes())?;
        write_bytes(out, wrong)?;
        rest = behind;
    }
    Ok(())
}

fn write_bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    bytes.iter().try_for_each(|byte| write!(out, "\\x{byte:02x}"))
}

/// `text` in one line that does nothing to a terminal: a line break is shown as `\n`.
pub(super) fn in_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, Escape::Text, &[])
}

fn escaped<'a>(text: &'a str, escape: Escape, allowed: &[char]) -> Cow<'a, str> {
    let is_unsafe = |c: char| acts_on_terminal(c) && !allowed.contains(&c);
    let Some(first) = text.find(is_unsafe) else { return Cow::Borrowed(text) };
    let (good, rest) = text.split_at(first);
    let mut shown = String::with_capacity(text.len() + 8);
    shown.push_str(good);
    for c in rest.chars() {
        match (escape, c) {
            _ if !is_unsafe(c) => shown.push(c),
            (Escape::Json, c) => shown.push_str(&format!("\\u{:04x}", c as u32)),
            (Escape::Text, '\n' | '\r' | '\t') => shown.extend(c.escape_default()),
            (Escape::Text, c) if (c as u32) < 0x100 => shown.push_str(&format!("\\x{:02x}", c as u32)),
            (Escape::Text, c) => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character controls the terminal, or how text around it is ordered or broken into lines.
fn acts_on_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' // marks of direction
            | '\u{2028}'..='\u{202e}' // separators; embeddings and overrides
            | '\u{2066}'..='\u{206f}' // isolates, and deprecated formats
            | '\u{fff9}'..='\u{fffb}') // interlinear annotations
}

/// Prints the items of a stream, on a thread of its own: `print` gets them one after another. When this is dropped,
/// nobody waits for the thread.
///
/// # Errors
/// Those of `print`, which gets those of the stream.
pub(super) async fn print<T, E>(
    content: Content,
    items: impl Stream<Item = Result<T, E>>,
    print: impl FnOnce(&mut Output, &mut dyn Iterator<Item = Result<T, E>>) -> Printed + Send + 'static,
) -> Printed
where
    T: Send + 'static,
    E: Send + 'static,
{
    let (sender, mut receiver) = queue::channel(1);
    let printing = spawn_blocking(move || {
        let mut out = Output::new(content);
        let printed = print(&mut out, &mut std::iter::from_fn(|| receiver.blocking_recv()));
        out.finish(printed)
    });
    pin_mut!(items);
    while let Some(item) = items.next().await {
        if sender.send(item).await.is_err() {
            break;
        }
    }
    drop(sender);
    printing.await?
}

/// Prints text on standard output.
///
/// # Errors
/// Nobody reads it any more.
pub(super) async fn show(content: Content, text: String) -> Printed {
    let whole = futures::stream::iter([Ok::<_, io::Error>(text)]);
    print(content, whole, |out, texts| {
        for text in texts {
            out.write_all(text?.as_bytes())?;
        }
        Ok(())
    })
    .await
}

/// Lines on their way to standard error.
struct Lines {
    sender: mpsc::Sender<String>,
}

/// How many lines are not written yet.
static PENDING: AtomicUsize = AtomicUsize::new(0);

static LINES: LazyLock<Lines> = LazyLock::new(|| {
    let (sender, lines) = mpsc::channel::<String>();
    let write = move || {
        for line in lines {
            // If nobody can read it, nothing is left to be done.
            let _ = writeln!(io::stderr(), "{line}");
            PENDING.fetch_sub(1, Ordering::AcqRel);
        }
    };
    if std::thread::Builder::new().name("standard error".to_string()).spawn(write).is_err() {
        log::debug!("no thread for standard error");
    }
    Lines { sender }
});

/// Whether standard error is a terminal.
pub(super) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Prints a line on standard error, without waiting for it.
pub(super) fn say(line: &str) {
    PENDING.fetch_add(1, Ordering::AcqRel);
    if LINES.sender.send(in_one_line(line).into_owned()).is_err() {
        PENDING.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether all lines that were said are written.
pub(super) fn all_said() -> bool {
    PENDING.load(Ordering::Acquire) == 0
}

/// Ends the process as `error` asks for; what it quotes of the arguments is shown like all text.
pub(super) fn exit_with(error: &clap::Error) -> ! {
    let shown = error.render().to_string();
    let quoted = std::env::args_os()
        .any(|argument| in_one_line(&argument.to_string_lossy()) != argument.to_string_lossy());
    if !quoted {
        error.exit();
    }
    let shown = escaped(&shown, Escape::Text, &['\n']);
    let _ = match error.use_stderr() {
        true => io::stderr().write_all(shown.as_bytes()),
        false => io::stdout().write_all(shown.as_bytes()),
    };
    std::process::exit(error.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_shown() {
        for (text, line) in [
            ("plain äöü 日本 \u{1f600}", "plain äöü 日本 \u{1f600}"),
            ("\x1b]0;t\x07", "\\x1b]0;t\\x07"),
            ("a\tb\r\nc", "a\\tb\\r\\nc"),
            ("\0\x7f\u{9b}2J", "\\x00\\x7f\\x9b2J"),
            ("a\u{202e}b\u{2066}c\u{200f}", "a\\u{202e}b\\u{2066}c\\u{200f}"),
            ("a\u{2028}b", "a\\u{2028}b"),
            ("joined \u{200d} stays", "joined \u{200d} stays"),
        ] {
            assert_eq!(in_one_line(text), line, "{text:?}");
            assert_eq!(in_one_line(line), line);
        }
    }

    fn written(escape: Escape, pieces: &[&[u8]]) -> String {
        let (mut out, mut begun) = (Vec::new(), Vec::new());
        for piece in pieces {
            write_escaped(&mut out, escape, &mut begun, piece).expect("memory");
        }
        write_bytes(&mut out, &begun).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn pieces_are_shown_as_the_whole() {
        let bytes = "a\x1b[2J\u{9b}ä\u{202e}日\n\t".as_bytes();
        let all = [bytes, b"\xff\xe6\x97"].concat();
        let expected = "a\\x1b[2J\\x9bä\\u{202e}日\n\t\\xff\\xe6\\x97";
        for cut in 0..=all.len() {
            let (head, tail) = all.split_at(cut);
            assert_eq!(written(Escape::Text, &[head, tail]), expected, "{cut}");
        }
        let single: Vec<&[u8]> = all.chunks(1).collect();
        assert_eq!(written(Escape::Text, &single), expected);
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({ "a\u{9b}": "\u{202e}x\x1b\x7f\n" });
        let text = serde_json::to_string(&value).expect("JSON");
        let shown = written(Escape::Json, &[text.as_bytes()]);
        assert!(shown.chars().all(|c| !acts_on_terminal(c)), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }
}
