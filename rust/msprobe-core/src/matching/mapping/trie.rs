//! The tree of module paths of one side. Its nodes are places; a place may hold any number of calls.

use std::borrow::Cow;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use super::file::TOP_LAYER;

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place(u32);

impl Place {
    pub(super) const ROOT: Place = Place(0);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The tree. Parents have smaller numbers than their children.
#[derive(Debug)]
pub(super) struct Trie<'a> {
    nodes: Vec<Node<'a>>,
    children: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
struct Node<'a> {
    parent: Place,
    part: Cow<'a, str>,
    /// The class of the item placed last; without one the part stands for it.
    class: Option<&'a str>,
}

impl Default for Trie<'_> {
    fn default() -> Self {
        let root = Node { parent: Place::ROOT, part: Cow::Borrowed(""), class: Some(TOP_LAYER) };
        Trie { nodes: vec![root], children: HashTable::new(), hasher: DefaultHashBuilder::default() }
    }
}

impl<'a> Trie<'a> {
    /// All places, parents first.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        (0..self.nodes.len() as u32).map(Place)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn parent(&self, place: Place) -> Option<Place> {
        (place != Place::ROOT).then(|| self.nodes[place.index()].parent)
    }

    pub(super) fn part(&self, place: Place) -> &str {
        &self.nodes[place.index()].part
    }

    /// All parts down to the place, with dots between them.
    pub(super) fn path(&self, place: Place) -> String {
        let mut parts: Vec<&str> = std::iter::successors(Some(place), |&below| self.parent(below)).map(|place| self.part(place)).collect();
        parts.pop();
        parts.reverse();
        parts.join(".")
    }

    /// The class by which rules find the place.
    pub(super) fn class(&self, place: Place) -> &str {
        let node = &self.nodes[place.index()];
        node.class.unwrap_or(&node.part)
    }

    pub(super) fn set_class(&mut self, place: Place, class: &'a str) {
        if place != Place::ROOT {
            self.nodes[place.index()].class = Some(class);
        }
    }

    pub(super) fn find(&self, parent: Place, part: &str) -> Option<Place> {
        let wanted = |&child: &u32| self.nodes[child as usize].parent == parent && self.nodes[child as usize].part == part;
        self.children.find(self.hasher.hash_one((parent.0, part)), wanted).map(|&child| Place(child))
    }

    /// The place at the end of a path below `from`.
    pub(super) fn follow(&self, from: Place, path: &str) -> Option<Place> {
        path.split('.').try_fold(from, |place, part| self.find(place, part))
    }

    pub(super) fn insert(&mut self, parent: Place, part: Cow<'a, str>) -> Place {
        if let Some(place) = self.find(parent, &part) {
            return place;
        }
        let place = self.nodes.len() as u32;
        let hash = self.hasher.hash_one((parent.0, &*part));
        self.nodes.push(Node { parent, part, class: None });
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        self.children.insert_unique(hash, place, |&child| {
            let node = &nodes[child as usize];
            hasher.hash_one((node.parent.0, &*node.part))
        });
        Place(place)
    }

    pub(super) fn insert_path(&mut self, parts: impl Iterator<Item = &'a str>) -> Place {
        parts.fold(Place::ROOT, |place, part| self.insert(place, Cow::Borrowed(part)))
    }

    /// Numbers the children of each place in `lists` from 0, by the last number in their part; children without a number
    /// keep their part. Returns the new place of each old one.
    pub(super) fn renumber(&mut self, lists: &[Place]) -> Vec<Place> {
        let mut smallest: HashMap<Place, u128> = HashMap::new();
        for node in &self.nodes[1..] {
            if lists.binary_search(&node.parent).is_ok() {
                if let Some(number) = last_number(&node.part) {
                    let least = smallest.entry(node.parent).or_insert(number);
                    *least = number.min(*least);
                }
            }
        }
        let old = std::mem::take(self);
        let mut moved = vec![Place::ROOT];
        for mut node in old.nodes.into_iter().skip(1) {
            if let (Some(least), Some(number)) = (smallest.get(&node.parent), last_number(&node.part)) {
                node.part = Cow::Owned((number - least).to_string());
            }
            let place = self.insert(moved[node.parent.index()], node.part);
            moved.push(place);
        }
        moved
    }
}

fn last_number(part: &str) -> Option<u128> {
    let end = part.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = part[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + part[at..].chars().next().map_or(1, char::len_utf8));
    part[start..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_numbers() {
        assert_eq!(last_number("4"), Some(4));
        assert_eq!(last_number("a1b22é"), Some(22));
        assert_eq!(last_number("é7"), Some(7));
        assert_eq!(last_number("layer"), None);
        assert_eq!(last_number(&"9".repeat(60)), None);
    }

    #[test]
    fn lists_are_numbered_from_0() {
        let mut trie = Trie::default();
        let list = trie.insert_path("enc.layers".split('.'));
        for part in ["5.q", "4", "shared"] {
            trie.insert_path("enc.layers".split('.').chain(part.split('.')));
        }
        let q = trie.follow(list, "5.q").unwrap();
        let moved = trie.renumber(&[list]);
        assert_eq!(trie.follow(Place::ROOT, "enc.layers.1.q"), Some(moved[q.index()]));
        assert!(trie.follow(Place::ROOT, "enc.layers.0").is_some() && trie.follow(Place::ROOT, "enc.layers.shared").is_some());
        assert_eq!(trie.follow(Place::ROOT, "enc.layers.5"), None);
    }
}
