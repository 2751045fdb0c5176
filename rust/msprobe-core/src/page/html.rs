//! A forest as nested, foldable lines.

use std::collections::HashSet;
use std::fmt::Write;

use super::forest::{Forest, Node, Status};

/// What is still to be written.
enum Step {
    /// A node at a depth.
    Node(u32, usize),
    /// The end of an opened node.
    End,
}

/// Appends the tree of one rank with at most about `budget` nodes. Returns how many were written.
pub(super) fn push_tree(out: &mut String, forest: &Forest, title: Option<&str>, open: &[&str], budget: usize, depth: usize) -> usize {
    let ways = ways(forest, open);
    let total = forest.nodes.len();
    let brief = total > budget;
    let bad = forest.roots.iter().map(|&root| forest.nodes[root as usize].below).fold([0; 3], add);
    if let Some(title) = title {
        let state = if bad == [0; 3] && ways.is_empty() { "" } else { " open" };
        let _ = write!(out, "<details class=\"rank\"{state}><summary><b>{title}</b> {}</summary>", counts(bad));
    }
    let mut written = 0;
    let mut steps: Vec<Step> = forest.roots.iter().rev().map(|&root| Step::Node(root, 0)).collect();
    let mut skipped: u64 = 0;
    while let Some(step) = steps.pop() {
        let (at, level) = match step {
            Step::End => {
                out.push_str("</details>\n");
                continue;
            }
            Step::Node(at, level) => (at, level),
        };
        let node = &forest.nodes[at as usize];
        if written >= budget.max(1) && !ways.contains(&at) {
            skipped += u64::from(node.size);
            continue;
        }
        written += 1;
        let folded = brief && level > 0 && node.agrees() && !ways.contains(&at);
        if node.children.is_empty() || folded || level >= depth {
            out.push_str("<div>");
            push_line(out, node);
            if !node.children.is_empty() {
                let inside = node.size - 1;
                let word = if node.agrees() { "nodes below agree" } else { "nodes below are in the file" };
                let _ = write!(out, " <small>{inside} {word}</small>");
            }
            out.push_str("</div>\n");
            continue;
        }
        let state = if level == 0 || ways.contains(&at) { " open" } else { "" };
        let _ = write!(out, "<details{state}><summary>");
        push_line(out, node);
        if node.below != [0; 3] {
            let _ = write!(out, " {}", counts(node.below));
        }
        out.push_str("</summary>\n");
        steps.push(Step::End);
        steps.extend(node.children.iter().rev().map(|&child| Step::Node(child, level + 1)));
    }
    if skipped > 0 {
        let _ = writeln!(out, "<p class=\"more\">{skipped} more nodes are in the file.</p>");
    }
    if forest.golden_only_total > 0 {
        let _ = write!(out, "<details><summary>only in golden <small>{} nodes</small></summary>", forest.golden_only_total);
        for name in &forest.golden_only {
            out.push_str("<div><i class=\"u\">\u{2205}</i> ");
            push_escaped(out, name);
            out.push_str("</div>\n");
        }
        let more = forest.golden_only_total - forest.golden_only.len() as u64;
        if more > 0 {
            let _ = write!(out, "<p class=\"more\">{more} more are in the file.</p>");
        }
        out.push_str("</details>\n");
    }
    if title.is_some() {
        out.push_str("</details>\n");
    }
    written
}

/// The nodes on the way to those of `open`, themselves included.
fn ways(forest: &Forest, open: &[&str]) -> HashSet<u32> {
    let mut ways = HashSet::new();
    for (at, node) in forest.nodes.iter().enumerate() {
        if open.contains(&node.name.as_str()) {
            let mut next = Some(at as u32);
            while let Some(on_the_way) = next.filter(|on_the_way| ways.insert(*on_the_way)) {
                next = forest.nodes[on_the_way as usize].parent;
            }
        }
    }
    ways
}

fn add(one: [u32; 3], two: [u32; 3]) -> [u32; 3] {
    [one[0] + two[0], one[1] + two[1], one[2] + two[2]]
}

fn counts([errors, warnings, unmatched]: [u32; 3]) -> String {
    let mut text = String::new();
    for (count, class, mark) in [(errors, "e", '\u{2715}'), (warnings, "w", '!'), (unmatched, "u", '\u{2205}')] {
        if count > 0 {
            let _ = write!(text, "<small class=\"{class}\">{mark} {count}</small> ");
        }
    }
    text
}

fn push_line(out: &mut String, node: &Node) {
    let (class, mark, word) = match node.status {
        Status::NotCompared => ("n", '\u{b7}', "not compared"),
        Status::Pass => ("p", '\u{2713}', "pass"),
        Status::Warning => ("w", '!', "warning"),
        Status::Error => ("e", '\u{2715}', "error"),
        Status::Unmatched => ("u", '\u{2205}', "unmatched"),
    };
    let _ = write!(out, "<i class=\"{class}\" title=\"{word}\">{mark}</i> <span>");
    push_escaped(out, &node.name);
    out.push_str("</span>");
    if let Some(partner) = &node.partner {
        out.push_str(" <small>\u{21c4} ");
        push_escaped(out, partner);
        out.push_str("</small>");
    }
    if let Some(level) = node.overflow {
        let _ = write!(out, " <small class=\"o\">overflow {level}</small>");
    }
}

/// Appends text that cannot end the element it stands in.
fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters and marks that turn the writing direction would change what is read.
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push('\u{fffd}');
            }
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, status: Status, parent: Option<u32>, children: &[u32], size: u32, below: [u32; 3]) -> Node {
        Node { name: name.into(), status, partner: None, overflow: None, children: children.to_vec(), parent, size, below }
    }

    fn forest() -> Forest {
        let nodes = vec![
            node("bad", Status::Error, Some(1), &[], 1, [0; 3]),
            node("module", Status::Pass, Some(4), &[0], 2, [1, 0, 0]),
            node("good", Status::Pass, Some(3), &[], 1, [0; 3]),
            node("quiet", Status::Pass, Some(4), &[2], 2, [0; 3]),
            node("root", Status::NotCompared, None, &[1, 3], 5, [1, 0, 0]),
        ];
        Forest { nodes, roots: vec![4], golden_only: vec!["<g>".into()], golden_only_total: 3 }
    }

    #[test]
    fn everything_is_there_when_there_is_room() {
        let mut out = String::new();
        assert_eq!(push_tree(&mut out, &forest(), None, &["bad"], 100, 50), 5);
        assert_eq!(out.matches("<details").count(), out.matches("</details>").count());
        // The way to the wanted node stands open, the other one does not.
        assert!(out.contains("<details open><summary><i class=\"p\" title=\"pass\">\u{2713}</i> <span>module"), "{out}");
        assert!(out.contains("<details><summary><i class=\"p\" title=\"pass\">\u{2713}</i> <span>quiet"), "{out}");
        assert!(out.contains("&lt;g&gt;") && out.contains("2 more are in the file"), "{out}");
    }

    #[test]
    fn what_agrees_is_one_line_when_there_is_little_room() {
        let mut out = String::new();
        push_tree(&mut out, &forest(), Some("step 0, rank 1"), &[], 4, 50);
        assert!(out.contains("1 nodes below agree") && !out.contains("good") && out.contains("bad"), "{out}");
        let mut out = String::new();
        push_tree(&mut out, &forest(), None, &[], 2, 50);
        assert!(out.contains("more nodes are in the file"), "{out}");
    }

    #[test]
    fn names_cannot_leave_their_place() {
        let mut out = String::new();
        push_escaped(&mut out, "<script>\"'&\u{202e}\n");
        assert_eq!(out, "&lt;script&gt;&quot;&#39;&amp;\u{fffd}\u{fffd}");
    }
}
