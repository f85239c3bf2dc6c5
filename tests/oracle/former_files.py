"""Files that version 0.1 wrote, in its own format."""

FILES = {
    "tensors": b"flambeau tensors 1\n"
    + (406).to_bytes(8, "little")
    + b'{"tensors":[{"dtype":"float32","shape":[3,2],"device":"cpu","requires_grad":false,"start":0},{"dtype'
    + b'":"bfloat16","shape":[3],"device":"cpu","requires_grad":true,"start":64},{"dtype":"float32","shape":'
    + b'[0,2],"device":"cpu","requires_grad":false,"start":128},{"dtype":"uint8","shape":[3],"device":"cpu",'
    + b'"requires_grad":false,"start":128}],"tree":{"list":[{"tensor":0},{"tensor":1},{"tensor":2},{"tensor"'
    + b":3}]}}"
    + bytes.fromhex(
        "00000000000040400000803f00008040000000400000a0400000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000803f803f803f000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000000000000000000000000000000102"
    ),
    "containers": b"flambeau tensors 1\n"
    + (346).to_bytes(8, "little")
    + b'{"tensors":[{"dtype":"float32","shape":[6],"device":"cpu","requires_grad":false,"start":0}],"tree":{'
    + b'"dict":[["state",{"ordered":[["w",{"tensor":0}]]}],[3,{"list":[1,2.5,true,null,"text",{"float":"inf"'
    + b'}]}],["pair",{"tuple":[0.9,0.999]}],["size",{"size":[2,3]}],["dtype",{"dtype":"float16"}],["device",'
    + b'{"device":"cuda:1"}],["again",{"tensor":0}]]}}'
    + bytes.fromhex("000000000000803f0000004000004040000080400000a040"),
}
