//! Dot parts, and the names that are told by them.

/// The dot parts of `name`, first to last. An empty name has one empty part.
#[must_use]
pub fn parts(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.split('.')
}

/// Number of dot parts, at least 1.
#[must_use]
pub fn part_count(name: &str) -> usize {
    memchr::memchr_iter(b'.', name.as_bytes()).count() + 1
}

/// The dot part `index`, counted from 0.
#[must_use]
pub fn part(name: &str, index: usize) -> Option<&str> {
    name.split('.').nth(index)
}

/// The dot part `index`, counted from 0 at the end.
#[must_use]
pub fn part_from_end(name: &str, index: usize) -> Option<&str> {
    name.rsplit('.').nth(index)
}

/// The last dot part; the whole name if it has no dot.
#[must_use]
pub fn last_part(name: &str) -> &str {
    memchr::memrchr(b'.', name.as_bytes()).map_or(name, |dot| &name[dot + 1..])
}

/// The name of the called API, the second dot part: `add` of `Torch.add.0.forward`.
#[must_use]
pub fn api_name(name: &str) -> Option<&str> {
    part(name, 1)
}

/// `name` without its last `count` dot parts; empty if it has no more than that many.
#[must_use]
pub fn without_last_parts(name: &str, count: usize) -> &str {
    let mut rest = name;
    for _ in 0..count {
        match memchr::memrchr(b'.', rest.as_bytes()) {
            Some(dot) => rest = &rest[..dot],
            None => return "",
        }
    }
    rest
}

/// What a call is named after, without its place, number and direction: `mlp` of `Module.layers.0.mlp.MLP.forward.0`, `add` of
/// `Torch.add.0.forward`. A number gives way to the part before it (`layers` of `Module.layers.0.Block.forward.0`). The whole name
/// if it is shorter than such names are.
#[must_use]
pub fn short_name(name: &str, is_module: bool) -> &str {
    let (place, least) = if is_module { (3, 6) } else { (1, 3) };
    match part_from_end(name, place) {
        Some(number) if is_number(number) && part_count(name) >= least => part_from_end(name, place + 1).unwrap_or(name),
        Some(part) => part,
        None => name,
    }
}

/// The layer that a module's name tells, and whether it is a numbered one: `Module.layers.0.attn.Attention.forward.0` is
/// (`layers.0`, true), `Module.emb.Embedding.forward.0` is (`emb`, false). `None` if the name is no module's.
#[must_use]
pub fn layer(name: &str) -> Option<(&str, bool)> {
    let path = name.split_once('.')?.1;
    // Class, direction and call number stand at the end.
    let path = path.rsplitn(4, '.').nth(3)?;
    let mut at = 0;
    for part in parts(path) {
        let end = at + part.len();
        if is_number(part) {
            return Some((&path[..end], true));
        }
        at = end + 1;
    }
    Some((parts(path).next().unwrap_or(path), false))
}

/// A data name (`Torch.add.0.forward.input.0.pt`) without its last dot part, the file type; unchanged if it has no dot.
#[must_use]
pub fn data_name_stem(data_name: &str) -> &str {
    memchr::memrchr(b'.', data_name.as_bytes()).map_or(data_name, |dot| &data_name[..dot])
}

/// Whether `part` is a number: one or more ASCII digits.
#[must_use]
pub fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
}

/// Whether the entry of this name was saved by a debugging call: last part `debug`.
#[must_use]
pub fn is_debug(name: &str) -> bool {
    last_part(name) == "debug"
}

/// Whether the entry of this name holds parameter gradients: last or second last part `parameters_grad`.
#[must_use]
pub fn is_parameters_grad(name: &str) -> bool {
    let ends_with_it = |name: &str| name.strip_suffix("parameters_grad").is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    ends_with_it(name) || name.bytes().rposition(|byte| byte == b'.').is_some_and(|dot| ends_with_it(&name[..dot]))
}

/// Splits `<owner>.parameters_grad` or `<owner>.parameters_grad.<digits>` into the module and the rest, which starts with
/// the dot. `None` for every other name.
#[must_use]
pub fn parameters_grad_owner(name: &str) -> Option<(&str, &str)> {
    const END: &str = ".parameters_grad";
    let stem = match name.rsplit_once('.') {
        Some((stem, number)) if is_number(number) => stem,
        _ => name,
    };
    let owner = stem.strip_suffix(END)?;
    Some((owner, &name[owner.len()..]))
}

/// Whether a module name lies at least one level below a top-level module, judged by its parts: more than 7 of them; 7 unless
/// the second and the fourth are numbers (a list of models in a list); 6 unless the second is a number.
#[must_use]
pub fn looks_nested(name: &str) -> bool {
    let number_at = |index| part(name, index).is_some_and(is_number);
    match part_count(name) {
        0..=5 => false,
        6 => !number_at(1),
        7 => !(number_at(1) && number_at(3)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_from_module_names() {
        assert_eq!(layer("Module.layers.0.attn.Attention.forward.0"), Some(("layers.0", true)));
        assert_eq!(layer("Module.emb.Embedding.forward.0"), Some(("emb", false)));
        assert_eq!(layer("Cell.net.decoder.layers.12.Block.backward.1"), Some(("net.decoder.layers.12", true)));
        assert_eq!(layer("DefaultModel"), None);
    }

    #[test]
    fn parts_from_both_ends() {
        let name = "Torch.add.0.forward";
        assert_eq!(part_count(name), 4);
        assert_eq!(part_count(""), 1);
        assert_eq!((part(name, 0), part(name, 3), part(name, 4)), (Some("Torch"), Some("forward"), None));
        assert_eq!((part_from_end(name, 0), part_from_end(name, 1), part_from_end(name, 4)), (Some("forward"), Some("0"), None));
        assert_eq!((last_part(name), last_part("optimizer"), last_part("a.")), ("forward", "optimizer", ""));
        assert_eq!((api_name(name), api_name("optimizer")), (Some("add"), None));
    }

    #[test]
    fn cutting_from_the_end() {
        assert_eq!(without_last_parts("a.b.c", 2), "a");
        assert_eq!(without_last_parts("a.b.c", 3), "");
        assert_eq!(without_last_parts("a.b.c", 9), "");
        assert_eq!(without_last_parts("a..c", 1), "a.");
        assert_eq!(data_name_stem("a.input.0.pt"), "a.input.0");
        assert_eq!(data_name_stem("whole"), "whole");
    }

    #[test]
    fn short_names() {
        // The rule of the reference: the 4th part from the end, the 5th if that is a number and there are more than five.
        assert_eq!(short_name("Module.layers.0.mlp.MLP.forward.0", true), "mlp");
        assert_eq!(short_name("Module.layers.0.Block.forward.0", true), "layers");
        assert_eq!(short_name("Module.0.Linear.forward.0", true), "0");
        assert_eq!(short_name("DefaultModel", true), "DefaultModel");
        // The 2nd part from the end, the 3rd if that is a number.
        assert_eq!(short_name("Torch.add.0.forward", false), "add");
        assert_eq!(short_name("Apis_Between_Modules.3", false), "Apis_Between_Modules");
    }

    #[test]
    fn names_of_gradients() {
        assert_eq!(parameters_grad_owner("Module.a.A.parameters_grad"), Some(("Module.a.A", ".parameters_grad")));
        assert_eq!(parameters_grad_owner("Module.a.A.parameters_grad.12"), Some(("Module.a.A", ".parameters_grad.12")));
        assert_eq!(parameters_grad_owner("Module.a.A.parameters_grad.x"), None);
        assert_eq!(parameters_grad_owner("Module.a.A.parameters_grad.1.2"), None);
        assert_eq!(parameters_grad_owner("parameters_grad"), None);
        assert_eq!(parameters_grad_owner("Module.a.myparameters_grad"), None);
        assert!(is_parameters_grad("Module.a.A.parameters_grad") && is_parameters_grad("Module.a.A.parameters_grad.x"));
        assert!(
            is_parameters_grad("parameters_grad") && is_parameters_grad("parameters_grad.") && is_parameters_grad(".parameters_grad.0")
        );
        assert!(!is_parameters_grad("Module.parameters_grad.A.forward.0") && !is_parameters_grad("Module.myparameters_grad.0"));
        assert!(is_debug("x.debug") && is_debug("debug") && !is_debug("x.debug.0") && !is_debug("xdebug"));
    }

    #[test]
    fn nested_names() {
        assert!(!looks_nested("Module.a.A.forward.0"));
        assert!(looks_nested("Module.a.b.A.forward.0"));
        assert!(!looks_nested("Module.0.b.A.forward.0"));
        assert!(looks_nested("Module.0.b.c.A.forward.0"));
        assert!(!looks_nested("Module.0.b.1.A.forward.0"));
        assert!(looks_nested("Module.0.b.1.c.A.forward.0"));
    }

    #[test]
    fn numbers_are_ascii_digits() {
        assert!(is_number("0") && is_number("007"));
        assert!(!is_number("") && !is_number("-1") && !is_number("1a") && !is_number("٣"));
    }
}
