//! What the mapping sees of one side: each entry of dump.json with its place in the tree of module paths.
//!
//! The place is the path of attribute names; of an API it is the path of the module that called it and the API's bare
//! name. So `Module`, `Cell`, `Torch`, `Mint` and call numbers play no role. stack.json is never looked at.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::trie::{Place, Trie};
use super::Skipped;
use crate::dump::{EntryId, RankFiles};
use crate::name;

/// Layers of this class are numbered from 0, whatever their first number is.
const RENUMBERED: &str = "ParallelTransformer";
/// The child of such a module that holds them.
const LAYERS: &str = "layers";
/// Stands for a parent where there is none.
const TOP: &str = "";

/// One entry of dump.json.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) entry: EntryId,
    pub(super) place: Place,
    /// `forward`, `backward`, `parameters_grad`.
    pub(super) state: &'a str,
}

/// The items of one side, in the order of dump.json, and the tree of their places.
pub(super) struct Items<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) trie: Trie<'a>,
}

/// How the name of an item is cut.
struct Cut<'a> {
    own_name: &'a str,
    class: &'a str,
    state: &'a str,
    /// What it lies in, from `Module` or `Cell` on.
    layer: &'a str,
}

impl<'a> Items<'a> {
    pub(super) fn collect(files: &'a RankFiles, skipped: &mut Skipped) -> Items<'a> {
        let dump = &files.dump;
        // Per entry the item it became.
        let mut item_of = vec![u32::MAX; dump.len()];
        let mut cuts = Vec::with_capacity(dump.len());
        let mut items = Vec::with_capacity(dump.len());
        for entry in dump.ids() {
            let full = dump.name(entry);
            match cut(full, files) {
                Some(cut) => {
                    item_of[entry.0 as usize] = items.len() as u32;
                    items.push(Item { entry, place: Place::ROOT, state: cut.state });
                    cuts.push(cut);
                }
                None => skipped.add(full),
            }
        }
        let mut trie = Trie::default();
        let mut layers: HashMap<&'a str, Place> = HashMap::new();
        let mut last: Option<(&'a str, Place)> = None;
        let mut twins = Vec::new();
        for (at, cut) in cuts.iter().enumerate() {
            // A backward call stands where its forward call does.
            if let Some(twin) = forward_name(dump.name(items[at].entry)).and_then(|forward| dump.find(&forward)) {
                let twin = item_of[twin.0 as usize];
                if twin != u32::MAX {
                    twins.push((at, twin as usize));
                    continue;
                }
            }
            let layer = match last {
                Some((known, place)) if known == cut.layer => place,
                _ => *layers.entry(cut.layer).or_insert_with(|| trie.insert_path(cut.layer.split('.').skip(1))),
            };
            last = Some((cut.layer, layer));
            items[at].place = trie.insert(layer, Cow::Borrowed(cut.own_name));
        }
        // A name may end in two directions; then its twin has one of its own, which by now is placed or stands right here.
        for &(at, twin) in &twins {
            items[at].place = items[twin].place;
        }
        let mut side = Items { items, trie };
        side.renumber(&cuts);
        for (item, cut) in side.items.iter().zip(&cuts) {
            side.trie.set_class(item.place, cut.class);
        }
        side
    }

    fn renumber(&mut self, cuts: &[Cut<'a>]) {
        let transformers = self.items.iter().zip(cuts).filter(|(_, cut)| cut.class == RENUMBERED);
        let mut lists: Vec<Place> = transformers.filter_map(|(item, _)| self.trie.find(item.place, LAYERS)).collect();
        lists.sort_unstable();
        lists.dedup();
        if lists.is_empty() {
            return;
        }
        let moved = self.trie.renumber(&lists);
        for item in &mut self.items {
            item.place = moved[item.place.index()];
        }
    }
}

/// Cuts a name; `None` if it, or its parent, has fewer than 4 parts.
fn cut<'a>(full: &'a str, files: &'a RankFiles) -> Option<Cut<'a>> {
    let from_end = |index| name::part_from_end(full, index);
    let last = from_end(0)?;
    let (p1, p2, p3) = (from_end(1)?, from_end(2)?, from_end(3)?);
    if last == "parameters_grad" {
        return Some(Cut { own_name: p2, class: p1, state: last, layer: name::without_last_parts(full, 3) });
    }
    if p1 == "parameters_grad" && name::is_number(last) {
        return Some(Cut { own_name: p3, class: p2, state: p1, layer: name::without_last_parts(full, 4) });
    }
    if full.starts_with("Module.") || full.starts_with("Cell.") {
        return Some(Cut { own_name: p3, class: p2, state: p1, layer: name::without_last_parts(full, 4) });
    }
    let parent = files.construct.find(full).and_then(|key| files.construct.link(key).parent).unwrap_or(TOP);
    if parent.contains('.') && name::part_count(parent) < 4 {
        return None;
    }
    Some(Cut { own_name: p2, class: p2, state: last, layer: name::without_last_parts(parent, 3) })
}

/// The name with `forward` for a `backward` among the last two parts.
fn forward_name(full: &str) -> Option<String> {
    let (rest, last) = full.rsplit_once('.')?;
    if last == "backward" {
        return Some(format!("{rest}.forward"));
    }
    let (rest, before) = rest.rsplit_once('.')?;
    (before == "backward").then(|| format!("{rest}.forward.{last}"))
}

#[cfg(test)]
mod tests {
    use super::forward_name;

    #[test]
    fn backward_among_the_last_two_parts() {
        assert_eq!(forward_name("Module.backward.B.backward.3").unwrap(), "Module.backward.B.forward.3");
        assert_eq!(forward_name("Torch.f.0.backward").unwrap(), "Torch.f.0.forward");
        assert_eq!(forward_name("Module.a.A.backward.x").unwrap(), "Module.a.A.forward.x");
        assert_eq!(forward_name("Module.backward.A.forward.0"), None);
        assert_eq!(forward_name("backward"), None);
    }
}
