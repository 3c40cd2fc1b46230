// Applies a suggestion's operations to a document. Supports the RFC 6902 operations `add` and `remove`.
import { isObject } from '../rules/values.ts';

export type PatchOperation =
  | { readonly op: 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/** Builds a JSON pointer (RFC 6901). */
export const toPointer = (names: readonly string[]): string =>
  names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const parsePointer = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Returns a changed copy. The objects on the operations' paths must exist. */
export const applyPatch = (document: unknown, patch: readonly PatchOperation[]): unknown =>
  patch.reduce((changed, operation) => change(changed, parsePointer(operation.path), operation), document);

function change(inside: unknown, [name = '', ...rest]: readonly string[], operation: PatchOperation): unknown {
  if (Array.isArray(inside)) {
    if (rest.length === 0 && name === '-' && operation.op === 'add') return [...inside, operation.value];
    return inside.map((item, at) => (String(at) === name ? change(item, rest, operation) : item));
  }
  if (!isObject(inside)) throw new Error('the path of a suggestion does not exist');
  const others = Object.entries(inside).filter(([each]) => each !== name);
  if (rest.length > 0) return { ...inside, [name]: change(inside[name], rest, operation) };
  return Object.fromEntries(operation.op === 'add' ? [...Object.entries(inside), [name, operation.value]] : others);
}
