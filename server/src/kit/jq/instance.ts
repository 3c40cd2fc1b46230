// Owns an instance of jq: its memory before and after a call.
import { type Jq, loadJq } from 'jq-wasm';

export interface Instance {
  readonly jq: Jq;
  readonly memory: WebAssembly.Memory;
  /** The memory before the first call, up to its last byte that is not zero. */
  readonly initial: Uint8Array;
  readonly initialBytes: number;
  /** Whose call was the last, if there was one. */
  owner: string | undefined;
}

export async function loadInstance(module: WebAssembly.Module): Promise<Instance> {
  let memory: WebAssembly.Memory | undefined;
  const jq = await loadJq({
    instantiateWasm(imports, onSuccess) {
      const instance = new WebAssembly.Instance(module, imports);
      memory = Object.values(instance.exports).find((value) => value instanceof WebAssembly.Memory);
      onSuccess(instance, module);
    },
  });
  if (memory === undefined) throw new Error('jq exports no memory');
  return { jq, memory, initial: copyUsed(memory), initialBytes: memory.buffer.byteLength, owner: undefined };
}

function copyUsed({ buffer }: WebAssembly.Memory): Uint8Array {
  const words = new Uint32Array(buffer);
  let used = words.length;
  while (used > 0 && words[used - 1] === 0) used -= 1;
  return new Uint8Array(buffer.slice(0, used * Uint32Array.BYTES_PER_ELEMENT));
}

/**
 * Makes the instance as it was before the call. jq's stack lies above its static data, without a guard between the two: a
 * deep recursion may write over that data, and calls of others would read it. A new instance takes longer than most calls,
 * so it is made only if the memory has grown, which can't be undone.
 */
export async function resetInstance(instance: Instance, module: WebAssembly.Module): Promise<Instance> {
  if (instance.memory.buffer.byteLength > instance.initialBytes) return loadInstance(module);
  new Uint8Array(instance.memory.buffer).set(instance.initial);
  return instance;
}

/**
 * Before a call of this owner, after a reset. The data of earlier calls is still in the memory that calls allocate, where a program of
 * another owner must not find it. To remove it takes milliseconds, as long as many a call. Without a name, each owner is
 * another one.
 */
export function changeOwner(instance: Instance, owner: string): void {
  if (instance.owner !== undefined && (owner === '' || owner !== instance.owner))
    new Uint8Array(instance.memory.buffer).fill(0, instance.initial.length);
  instance.owner = owner;
}
