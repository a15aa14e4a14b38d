// Calls the kernels of a WebAssembly module as a list says, and compares what they return.
//
//     node run.mjs kernels.wasm calls.json
import { readFileSync } from "node:fs";

const [, , file, list] = process.argv;
const { instance } = await WebAssembly.instantiate(readFileSync(file), {});
const { memory, __heap_base: heap, ...functions } = instance.exports;
let wrong = 0;
for (const call of JSON.parse(readFileSync(list))) {
    let end = heap.value + 63 & ~63;
    const place = (bytes) => {
        const at = end;
        end = (end + bytes.length + 63) & ~63;
        if (end > memory.buffer.byteLength) memory.grow((end - memory.buffer.byteLength + 65535) >> 16);
        new Uint8Array(memory.buffer).set(bytes, at);
        return at;
    };
    const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));
    const sizes = call.sizes.map(BigInt);
    const scratch = new Uint8Array(functions[`${call.name}_worksize`](...sizes));
    const given = call.inputs.map((one) => one.place ? place(bytes(one.hex)) : one.is64 ? BigInt(one.number) : one.number);
    const outputs = call.outputs.map((hex) => place(new Uint8Array(hex.length / 2)));
    const status = functions[call.name](...sizes, ...given, ...outputs, place(scratch));
    const made = call.outputs.map((hex, i) =>
        Buffer.from(new Uint8Array(memory.buffer, outputs[i], hex.length / 2)).toString("hex"));
    const same = status === call.status && (status !== 0 || made.every((hex, i) => hex === call.outputs[i]));
    console.log(`${call.name}: ${same ? "as in Python" : `returned ${status}, or other numbers`}`);
    wrong += !same;
}
process.exit(wrong);
