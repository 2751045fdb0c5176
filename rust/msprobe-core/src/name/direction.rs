//! Forward and backward, looked for at their fixed place only: before the call number of a module
//! (`Module.a.A.forward.0`), at the end of an API (`Torch.add.0.forward`). The words may occur anywhere else in a name.

use super::parts::is_number;

/// Direction of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `forward`
    Forward,
    /// `backward`
    Backward,
}

impl Direction {
    /// The word in names.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        }
    }

    /// The other direction.
    #[must_use]
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        }
    }

    fn of_part(part: &str) -> Option<Direction> {
        match part {
            "forward" => Some(Direction::Forward),
            "backward" => Some(Direction::Backward),
            _ => None,
        }
    }
}

/// A name that ends with `.forward.<digits>` or `.backward.<digits>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleCall<'a> {
    /// The name without that end.
    pub base: &'a str,
    /// The direction.
    pub direction: Direction,
    /// The call number, as written.
    pub number: &'a str,
}

/// Cuts the end `.forward.<digits>` or `.backward.<digits>`; `None` if the name has no such end.
#[must_use]
pub fn module_call(name: &str) -> Option<ModuleCall<'_>> {
    // From the end, a few bytes each: most names are told by their last part.
    let dot = name.bytes().rposition(|b| b == b'.')?;
    let (rest, number) = (&name[..dot], &name[dot + 1..]);
    if !is_number(number) {
        return None;
    }
    let dot = rest.bytes().rposition(|b| b == b'.')?;
    let direction = Direction::of_part(&rest[dot + 1..])?;
    Some(ModuleCall { base: &rest[..dot], direction, number })
}

/// The direction of a name that ends with `.forward` or `.backward`, as APIs do, and the name without that end.
#[must_use]
pub fn api_direction(name: &str) -> Option<(&str, Direction)> {
    let end = |direction: Direction| Some((name.strip_suffix(direction.as_str())?.strip_suffix('.')?, direction));
    end(Direction::Forward).or_else(|| end(Direction::Backward))
}

/// `name` with the direction at its fixed place replaced; `None` if there is none at that place.
#[must_use]
pub fn with_direction(name: &str, direction: Direction) -> Option<String> {
    if let Some(call) = module_call(name) {
        return Some(format!("{}.{}.{}", call.base, direction.as_str(), call.number));
    }
    let (base, _) = api_direction(name)?;
    Some(format!("{base}.{}", direction.as_str()))
}

/// The same call in the other direction; `None` for a name without a direction at its fixed place.
#[must_use]
pub fn switch_direction(name: &str) -> Option<String> {
    let direction = module_call(name).map(|call| call.direction).or_else(|| api_direction(name).map(|(_, direction)| direction))?;
    with_direction(name, direction.opposite())
}

/// The forward call of a backward name; `None` if `name` is no backward call.
#[must_use]
pub fn forward_twin(name: &str) -> Option<String> {
    let direction = module_call(name).map(|call| call.direction).or_else(|| api_direction(name).map(|(_, direction)| direction))?;
    (direction == Direction::Backward).then(|| with_direction(name, Direction::Forward)).flatten()
}

/// Whether a module's name has the part `forward` with other parts on both sides: one of its forward passes. This is how micro
/// steps are told apart, so the word counts at any place.
#[must_use]
pub fn passes_forward(name: &str) -> bool {
    name.contains(".forward.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_modules() {
        let call = module_call("Module.a.A.forward.10").unwrap();
        assert_eq!(call, ModuleCall { base: "Module.a.A", direction: Direction::Forward, number: "10" });
        assert_eq!(module_call("Module.a.A.backward.x"), None);
        assert_eq!(module_call("Module.a.A.forwards.1"), None);
        assert_eq!(module_call("forward.1"), None);
        assert_eq!(module_call("Torch.add.0.forward"), None);
    }

    #[test]
    fn only_the_fixed_place_is_switched() {
        assert_eq!(switch_direction("Module.feed_forward.FeedForward.forward.0").unwrap(), "Module.feed_forward.FeedForward.backward.0");
        assert_eq!(switch_direction("Torch._backward_hook.0.backward").unwrap(), "Torch._backward_hook.0.forward");
        assert_eq!(switch_direction("Module.forward.forward.backward.1").unwrap(), "Module.forward.forward.forward.1");
        assert_eq!(switch_direction("optimizer"), None);
        assert_eq!(switch_direction("forward"), None);
        assert_eq!(with_direction("Torch.add.0.forward", Direction::Forward).unwrap(), "Torch.add.0.forward");
    }

    #[test]
    fn forward_passes() {
        assert!(passes_forward("Module.a.A.forward.0"));
        assert!(!passes_forward("Module.a.A.backward.0") && !passes_forward("Torch.add.0.forward") && !passes_forward("optimizer"));
    }

    #[test]
    fn twins_are_of_backward_calls() {
        assert_eq!(forward_twin("Torch.add.0.backward").unwrap(), "Torch.add.0.forward");
        assert_eq!(forward_twin("Torch.add.0.forward"), None);
        assert_eq!(forward_twin("Module.a.A.backward.2").unwrap(), "Module.a.A.forward.2");
    }
}
