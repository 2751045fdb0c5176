//! The globals a saved tensor may name, and what each of them makes.
//!
//! This list is the whole of what a pickle can do here. Sources: `torch/_utils.py`, `torch/_tensor.py` for the argument
//! lists, `torch/autograd/variable.py` of torch before 0.4; `torch_npu.utils.storage` for files of accelerators written
//! with torch before 2.1.

use super::dtype::Dtype;
use super::error::Reason;
use super::layout::DIMENSIONS;
use super::pickle::{Machine, Value};
use crate::text::message::plain;

/// Most arguments that any of the functions here looks at.
const ARGUMENTS: usize = 8;

/// An allowed global.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Global {
    /// `(storage, offset, size, stride, ...)`, the 7th argument may hold metadata. Also the form of `torch_npu`.
    TensorV2,
    /// `(storage, offset, size, stride, requires_grad, hooks, dtype[, metadata])`
    TensorV3,
    /// `(tensor, requires_grad, hooks[, state])`
    Parameter,
    /// A class that holds a tensor: `(tensor)` makes the tensor; as a type it says nothing.
    Holder,
    /// `(function, type, arguments, state)`
    FromType,
    /// `(type, dtype, size, stride, offset, layout, device, requires_grad)`; the data comes with the state.
    WrapperSubclass,
    /// `()`
    OrderedDict,
    /// Storage class with its element type; `None` counts bytes.
    Storage(Option<Dtype>),
    /// `torch.float32`, ...
    Dtype(Dtype),
    /// An element type without a decoder; refused when used.
    UnknownDtype,
    /// A class or function whose result does not matter for the numbers.
    Inert,
}

/// A storage named by a persistent id.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageRef<'a> {
    /// Element type, `None` for untyped ones.
    pub dtype: Option<Dtype>,
    /// File name below `data/`, or the key in the old format.
    pub key: &'a [u8],
    /// Elements; bytes for untyped ones.
    pub count: u64,
    /// Old format: key, offset and count (in elements) of a part of another storage.
    pub view: Option<(&'a [u8], u64, u64)>,
}

/// A tensor as the pickle describes it, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSpec {
    /// Index into the machine's storages; `None` for a wrapper whose inner tensor was not met yet.
    pub storage: Option<u32>,
    /// Element type.
    pub dtype: Dtype,
    /// First element.
    pub offset: i128,
    /// Size of each dimension.
    pub size: Vec<i128>,
    /// Elements between neighbours, for each dimension.
    pub stride: Vec<i128>,
    /// Imaginary parts are to be negated.
    pub conjugated: bool,
    /// Values are to be negated.
    pub negated: bool,
}

/// Looks an allowed global up, or says which one is not.
pub fn global(module: &str, name: &str) -> Result<Global, Reason> {
    Ok(match (module, name) {
        ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") | ("torch_npu.utils.storage", "_rebuild_npu_tensor") => Global::TensorV2,
        ("torch._utils", "_rebuild_tensor_v3") => Global::TensorV3,
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => Global::Parameter,
        ("torch._tensor", "_rebuild_from_type_v2" | "_rebuild_from_type") => Global::FromType,
        ("torch._utils", "_rebuild_wrapper_subclass") => Global::WrapperSubclass,
        ("collections", "OrderedDict") => Global::OrderedDict,
        ("torch" | "torch.storage", "UntypedStorage") => Global::Storage(None),
        ("torch._utils", "_rebuild_sparse_tensor" | "_rebuild_sparse_csr_tensor") => return Err(Reason::Kind("sparse")),
        ("torch._utils", "_rebuild_qtensor") => return Err(Reason::Kind("quantized")),
        ("torch._utils", "_rebuild_meta_tensor_no_storage") => return Err(Reason::Kind("meta")),
        ("torch._utils", "_rebuild_nested_tensor") | ("torch.nested._internal.nested_tensor", _) => return Err(Reason::Kind("nested")),
        ("torch._utils", "_rebuild_device_tensor_from_numpy" | "_rebuild_device_tensor_from_cpu_tensor") => {
            return Err(Reason::Kind("device"));
        }
        ("torch.nn.parameter", "Parameter" | "Buffer") | ("torch.autograd.variable", "Variable") => Global::Holder,
        ("torch", "Tensor" | "Size" | "device") | ("torch.serialization", "_get_layout") => Global::Inert,
        ("torch" | "torch.cuda", _) if is_tensor_class(name) => Global::Inert,
        _ if inert_of_distributed(module, name) => Global::Inert,
        ("torch", _) => of_torch(name).ok_or_else(|| Reason::Global(plain(&format!("{module}.{name}"))))?,
        _ => return Err(Reason::Global(plain(&format!("{module}.{name}")))),
    })
}

/// Classes that describe how a distributed tensor is spread; its numbers are the local shard in the state.
fn inert_of_distributed(module: &str, name: &str) -> bool {
    match module {
        "torch.distributed.tensor" | "torch.distributed._tensor" | "torch.distributed._tensor.api" | "torch.distributed.tensor._api" => {
            name == "DTensor"
        }
        "torch.distributed.tensor._dtensor_spec"
        | "torch.distributed._tensor.placement_types"
        | "torch.distributed.tensor.placement_types" => {
            matches!(
                name,
                "DTensorSpec" | "TensorMeta" | "Shard" | "Replicate" | "Partial" | "_Partial" | "_StridedShard" | "ShardOrderEntry"
            )
        }
        "torch.distributed.device_mesh" | "torch.distributed._tensor.device_mesh" => name == "DeviceMesh",
        "torch.distributed._mesh_layout" => matches!(name, "_MeshLayout" | "_FlatLayout"),
        _ => false,
    }
}

/// The classes that tensors had by element type: `FloatTensor`, ...
fn is_tensor_class(name: &str) -> bool {
    name.strip_suffix("Tensor").is_some_and(|kind| Dtype::from_storage_class(&format!("{kind}Storage")).is_some())
}

fn of_torch(name: &str) -> Option<Global> {
    if let Some(dtype) = Dtype::from_torch(name) {
        return Some(Global::Dtype(dtype));
    }
    if let Some(dtype) = Dtype::from_storage_class(name) {
        return Some(Global::Storage(Some(dtype)));
    }
    matches!(name, "quint8" | "qint8" | "qint32" | "quint4x2" | "quint2x4").then_some(Global::UnknownDtype)
}

/// The storage a persistent id names: `("storage", class, key, location, count[, view])`. The location is ignored.
pub fn storage<'a>(machine: &Machine<'a>, id: Value<'a>) -> Result<StorageRef<'a>, Reason> {
    let wrong = || Reason::Pickle { what: "a persistent id is no storage", at: 0 };
    let parts = machine.elements(id);
    let [Value::Text(b"storage"), Value::Global(Global::Storage(dtype)), Value::Text(key), _location, Value::Int(count), rest @ ..] = parts
    else {
        return Err(wrong());
    };
    let natural = |n: i128| u64::try_from(n).map_err(|_| wrong());
    let view = match rest.first() {
        None | Some(Value::None) => None,
        Some(view) => match machine.elements(*view) {
            [Value::Text(key), Value::Int(offset), Value::Int(count)] => Some((*key, natural(*offset)?, natural(*count)?)),
            _ => return Err(wrong()),
        },
    };
    Ok(StorageRef { dtype: *dtype, key, count: natural(*count)?, view })
}

/// What REDUCE makes of an allowed global.
pub fn reduce<'a>(machine: &mut Machine<'a>, global: Global, arguments: Value<'a>) -> Result<Value<'a>, Reason> {
    let wrong = |what| Reason::Pickle { what, at: 0 };
    // What is called many times with one long tuple must not cost the tuple each time.
    let parts = machine.elements(arguments).iter().copied().take(ARGUMENTS).collect::<Vec<_>>();
    match global {
        Global::OrderedDict => Ok(machine.new_dict()),
        Global::Inert => Ok(Value::Inert),
        Global::TensorV2 | Global::TensorV3 => {
            let [Value::Storage(storage), Value::Int(offset), size, stride, rest @ ..] = parts.as_slice() else {
                return Err(wrong("a tensor is rebuilt from something else than a storage"));
            };
            let (given, metadata) = if global == Global::TensorV3 { (rest.get(2), rest.get(3)) } else { (None, rest.get(2)) };
            let dtype = match (given, machine.storages[*storage as usize].dtype) {
                (Some(Value::Global(Global::UnknownDtype)), _) => return Err(Reason::Kind("quantized")),
                (Some(given), _) => given.dtype().ok_or_else(|| wrong("the dtype of a tensor is no dtype"))?,
                (None, Some(dtype)) => dtype,
                (None, None) => return Err(wrong("a tensor on an untyped storage has no dtype")),
            };
            let flag = |key| metadata.and_then(|m| machine.get(*m, key)) == Some(Value::Bool(true));
            let (conjugated, negated) = (flag("conj"), flag("neg"));
            let numbers = |value: &Value<'a>| -> Result<Vec<i128>, Reason> {
                let numbers = machine.elements(*value);
                if numbers.len() > DIMENSIONS {
                    return Err(Reason::Layout(format!("{} dimensions, at most {DIMENSIONS} are possible", numbers.len())));
                }
                numbers.iter().map(|v| v.int().ok_or_else(|| wrong("a size or stride is no integer"))).collect()
            };
            let (size, stride) = (numbers(size)?, numbers(stride)?);
            Ok(push(machine, TensorSpec { storage: Some(*storage), dtype, offset: *offset, size, stride, conjugated, negated }))
        }
        Global::Parameter => match parts.first() {
            Some(tensor @ (Value::Tensor(_) | Value::Named(_))) => Ok(*tensor),
            _ => Err(wrong("a parameter without a tensor")),
        },
        Global::Holder => match parts.first() {
            Some(tensor @ (Value::Tensor(_) | Value::Named(_))) => Ok(*tensor),
            _ => Ok(Value::Inert),
        },
        Global::FromType => match parts.as_slice() {
            [Value::Global(function), _type, arguments, rest @ ..] if *function != Global::FromType => {
                let made = reduce(machine, *function, *arguments)?;
                Ok(rest.first().map_or(made, |state| build(machine, made, *state)))
            }
            _ => Err(wrong("a tensor of a type is rebuilt by something that is no allowed global")),
        },
        Global::WrapperSubclass => {
            let dtype = parts.get(1).and_then(|v| v.dtype()).ok_or_else(|| wrong("a wrapper tensor has no dtype"))?;
            let spec = TensorSpec { storage: None, dtype, offset: 0, size: vec![], stride: vec![], conjugated: false, negated: false };
            Ok(push(machine, spec))
        }
        Global::Storage(_) | Global::Dtype(_) | Global::UnknownDtype => Err(wrong("a type is called")),
    }
}

fn push<'a>(machine: &mut Machine<'a>, spec: TensorSpec) -> Value<'a> {
    machine.tensors.push(spec);
    Value::Tensor(machine.tensors.len() as u32 - 1)
}

/// What BUILD leaves of an object: state is dropped, except that a wrapper becomes the local tensor it carries.
pub fn build<'a>(machine: &Machine<'a>, object: Value<'a>, state: Value<'a>) -> Value<'a> {
    let Value::Tensor(index) = object else { return object };
    if machine.tensors[index as usize].storage.is_some() {
        return object;
    }
    // A dict, or a tuple of one for attributes and one for slots; either may be None.
    let dicts = [Some(state), machine.elements(state).first().copied(), machine.elements(state).get(1).copied()];
    let local = dicts.into_iter().flatten().find_map(|dict| machine.get(dict, "_local_tensor"));
    match local {
        Some(local @ Value::Tensor(_)) => local,
        _ => object,
    }
}
