// A jq instance: its memory before and after a call.
import { type Jq, loadJq } from 'jq-wasm';

export interface Instance {
  readonly jq: Jq;
  readonly memory: WebAssembly.Memory;
  /** The memory before the first call, up to the last non-zero byte. */
  readonly initial: Uint8Array;
  readonly initialBytes: number;
  /** The last call's owner, if there has been a call. */
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
 * Restores the instance to its initial state. jq's stack lies above its static data, with no guard in between. Deep
 * recursion may overwrite that data, which other owners' calls would then read. Memory can't shrink, so a new instance
 * is created if it has grown. Otherwise, the instance is reused, because creating one takes longer than most calls.
 */
export async function resetInstance(instance: Instance, module: WebAssembly.Module): Promise<Instance> {
  if (instance.memory.buffer.byteLength > instance.initialBytes) return loadInstance(module);
  new Uint8Array(instance.memory.buffer).set(instance.initial);
  return instance;
}

/**
 * Prepares a reset instance for a call by this owner. Data from earlier calls remains in the memory that calls
 * allocate, and another owner's program must not find it there. Clearing the memory takes milliseconds, as long as many
 * calls, so it is done only if the owner changes. An empty name always counts as a different owner.
 */
export function changeOwner(instance: Instance, owner: string): void {
  if (instance.owner !== undefined && (owner === '' || owner !== instance.owner))
    new Uint8Array(instance.memory.buffer).fill(0, instance.initial.length);
  instance.owner = owner;
}
