//! A call's links as the file holds them, with the separators of Python's `json.dumps`.

use super::operation::Direction;
use crate::text::json;
use crate::visdb::CommunicationNode;

/// `matched_distributed` of one call, while it is written.
#[derive(Debug, Default)]
pub(super) struct LinkText {
    partners: Vec<u8>,
    whole: Vec<u8>,
}

impl LinkText {
    /// Forgets the partners.
    pub(super) fn clear(&mut self) {
        self.partners.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.partners.is_empty()
    }

    /// Appends a partner: `"1": ["Nan", "Distributed.all_reduce.0.forward"]`.
    pub(super) fn push(&mut self, rank: u64, node: &CommunicationNode) {
        let out = &mut self.partners;
        out.extend_from_slice(if out.is_empty() { b"\"" } else { b", \"" });
        out.extend_from_slice(rank.to_string().as_bytes());
        out.extend_from_slice(b"\": [");
        json::push_string(out, &node.index);
        out.extend_from_slice(b", ");
        json::push_string(out, &node.name);
        out.push(b']');
    }

    /// The whole text. `None` is a call that both sends and receives.
    pub(super) fn finish(&mut self, direction: Option<Direction>) -> &str {
        let kind = match direction {
            Some(Direction::Send) => "send",
            Some(Direction::Receive) => "receive",
            None => "send_receive",
        };
        self.whole.clear();
        self.whole.extend_from_slice(b"{\"communications_type\": \"");
        self.whole.extend_from_slice(kind.as_bytes());
        self.whole.extend_from_slice(b"\", \"nodes_info\": {");
        self.whole.extend_from_slice(&self.partners);
        self.whole.extend_from_slice(b"}}");
        // Escaped to ASCII above.
        std::str::from_utf8(&self.whole).unwrap_or("{}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_separators_and_escapes() {
        let node = |name: &str, index: &str| CommunicationNode { row: 1, name: name.into(), index: index.into() };
        let mut text = LinkText::default();
        text.push(1, &node("Distributed.all_reduce.0.forward", "Nan"));
        text.push(10, &node("Distributed.\"é", "0.5"));
        // json.dumps({"communications_type": "send_receive", "nodes_info": {"1": ["Nan", ...], "10": ["0.5", ...]}})
        assert_eq!(
            text.finish(None),
            r#"{"communications_type": "send_receive", "nodes_info": {"1": ["Nan", "Distributed.all_reduce.0.forward"], "10": ["0.5", "Distributed.\"\u00e9"]}}"#
        );
        text.clear();
        assert!(text.is_empty());
    }
}
