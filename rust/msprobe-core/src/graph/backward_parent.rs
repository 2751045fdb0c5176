//! Parents of backward nodes, which the recorder often cannot tell.
//!
//! *Parent missing*: a backward call takes the parent of its forward twin (same call, other direction), turned to
//! backward, if that is a key of construct.json. *Parent present*: below an in-place layer the recorded parent of a
//! module's backward call may be a sibling. If the module path of the child, without its own name, differs from the
//! parent's path, the forward twin decides again: no twin, keep; twin without parent, no parent; else the twin's parent,
//! turned to backward, if it is a key, else keep. Directions are replaced at their fixed place only.

use crate::dump::{ConstructFile, Link};
use crate::name::{self, Direction};

/// The parent under which a key of construct.json belongs; `None` for the root.
pub(super) fn parent_of<'a>(construct: &'a ConstructFile, link: &Link<'a>) -> Option<&'a str> {
    match link.parent {
        None => of_the_twin(construct, link.name),
        Some(parent) => repaired(construct, link.name, parent),
    }
}

fn of_the_twin<'a>(construct: &'a ConstructFile, name: &str) -> Option<&'a str> {
    let twin = construct.find(&name::forward_twin(name)?)?;
    let parent = construct.link(twin).parent?;
    backward_key(construct, parent)
}

/// `forward_parent` turned to backward, if construct.json has such a key.
fn backward_key<'a>(construct: &'a ConstructFile, forward_parent: &str) -> Option<&'a str> {
    let key = match name::with_direction(forward_parent, Direction::Backward) {
        Some(backward) => construct.find(&backward),
        None => construct.find(forward_parent),
    };
    Some(construct.link(key?).name)
}

fn repaired<'a>(construct: &'a ConstructFile, name: &str, parent: &'a str) -> Option<&'a str> {
    if name::module_call(name).is_none_or(|call| call.direction != Direction::Backward) || same_module(name, parent) {
        return Some(parent);
    }
    let Some(twin) = name::forward_twin(name).and_then(|twin| construct.find(&twin)) else {
        return Some(parent);
    };
    match construct.link(twin).parent {
        None => None,
        Some(forward_parent) => Some(backward_key(construct, forward_parent).unwrap_or(parent)),
    }
}

/// Whether a child (`<path>.<attribute>.<Class>.backward.<n>`) lies directly in the module `<path>` of its parent. True also
/// for names too short to tell.
fn same_module(child: &str, parent: &str) -> bool {
    name::part_count(child) < 5 || name::part_count(parent) < 4 || name::without_last_parts(child, 4) == name::without_last_parts(parent, 3)
}
