//! Which connectors exist, and which of them a file belongs to.
//!
//! A new format is one line in [`connectors`].

use std::sync::{Arc, LazyLock};

use recordfusion_core::Connector;
use recordfusion_riegeli::RiegeliConnector;

/// All connectors.
pub fn connectors() -> &'static [Arc<dyn Connector>] {
    static CONNECTORS: LazyLock<Vec<Arc<dyn Connector>>> = LazyLock::new(|| vec![Arc::new(RiegeliConnector)]);
    &CONNECTORS
}

/// The connector of this name or file name extension, in any case.
pub fn connector(name: &str) -> Option<&'static Arc<dyn Connector>> {
    connectors()
        .iter()
        .find(|connector| names(connector.as_ref()).any(|known| known.eq_ignore_ascii_case(name)))
}

/// The connector that recognises a file by its first bytes, at least [`signature_len`] of them if the
/// file has so many.
pub fn recognise(prefix: &[u8]) -> Option<&'static Arc<dyn Connector>> {
    connectors().iter().find(|connector| {
        let len = usize::try_from(connector.signature_len()).unwrap_or(usize::MAX);
        connector.recognises(&prefix[..prefix.len().min(len)])
    })
}

/// How many first bytes of a file all connectors together want to see.
pub fn signature_len() -> u64 {
    connectors().iter().map(|connector| connector.signature_len()).max().unwrap_or(0)
}

/// The names under which SQL knows a connector: its own, and its extensions.
pub(crate) fn names(connector: &dyn Connector) -> impl Iterator<Item = &'static str> {
    let name = connector.name();
    std::iter::once(name)
        .chain(connector.extensions().iter().copied().filter(move |extension| *extension != name))
}

/// The names of all options of all connectors, each once.
pub fn option_names() -> Vec<&'static str> {
    let mut names: Vec<_> =
        connectors().iter().flat_map(|connector| connector.option_names()).copied().collect();
    names.sort_unstable();
    names.dedup();
    names
}
