// The notation for recorded tool calls in the demo shop's flows. It identifies elements by role and name, and
// checks by their expectation.
import type { RecordedCall } from '../test-play.ts';

/** A call with typed arguments, so scripts can read the arguments. */
export interface ShopCall extends RecordedCall {
  readonly arguments: CallArguments;
}

/** The arguments of all tools. Each tool uses some of them. */
type CallArguments = {
  readonly path?: string;
  readonly text?: string;
  readonly option?: string;
  readonly width?: number;
  readonly height?: number;
  readonly kind?: 'text' | 'no_text' | 'count' | 'value' | 'fits';
  readonly role?: string;
  readonly name?: string;
  readonly count?: number;
  readonly value?: string;
};

export const open = (path: string): ShopCall => ({ name: 'open', arguments: { path } });
export const click = (role: string, name: string): ShopCall => ({
  name: 'click',
  element: { role, name },
  arguments: {},
});
export const type = (role: string, name: string, text: string): ShopCall => ({
  name: 'type',
  element: { role, name },
  arguments: { text },
});
export const select = (role: string, name: string, option: string): ShopCall => ({
  name: 'select',
  element: { role, name },
  arguments: { option },
});
export const resize = (width: number, height: number): ShopCall => ({
  name: 'resize',
  arguments: { width, height },
});

const expectThat = (check: CallArguments): ShopCall => ({ name: 'assert', arguments: check });
export const expectText = (text: string): ShopCall => expectThat({ kind: 'text', text });
export const expectNoText = (text: string): ShopCall => expectThat({ kind: 'no_text', text });
export const expectCount = (role: string, name: string, count: number): ShopCall =>
  expectThat({ kind: 'count', role, name, count });
export const expectValue = (role: string, name: string, value: string): ShopCall =>
  expectThat({ kind: 'value', role, name, value });
export const expectFit = (): ShopCall => expectThat({ kind: 'fits' });
