// What is known of every operation: its arguments, its effect and its refusals; and of every error code. Written by `npm run describe`.
import { CommandError } from './exit.ts';
import { suggest } from './similar.ts';

export interface DescribedArgument {
  readonly in: 'path' | 'query' | 'body';
  /** Written as in TypeScript: `string | null`. */
  readonly type: string;
  readonly required?: boolean;
  readonly description?: string;
}

export interface DescribedOperation {
  readonly route: string;
  readonly summary: string;
  readonly description?: string;
  readonly area: string;
  readonly effect: 'read' | 'change' | 'remove' | 'spend';
  readonly repeat: 'safe' | 'key' | 'look';
  /** What the answer is, if it is not one JSON document. */
  readonly answer?: 'events' | 'lines' | 'text' | 'bytes';
  /** Whether the answer is a page of a list. */
  readonly pages?: boolean;
  /** Whether it can be followed as events. */
  readonly stream?: boolean;
  readonly arguments: Readonly<Record<string, DescribedArgument>>;
}

export interface DescribedError {
  readonly status: number;
  readonly meaning: string;
  /** What to do next. */
  readonly action: string;
}

interface Described {
  readonly operations: Readonly<Record<string, DescribedOperation>>;
  readonly errors: Readonly<Record<string, DescribedError>>;
}

let read: Promise<Described> | undefined;

function readDescribed(): Promise<Described> {
  read ??= import('../../sdk/src/generated/describe.json', { with: { type: 'json' } }).then(
    ({ default: described }) => described as unknown as Described,
  );
  return read;
}

export const readOperations = async (): Promise<Described['operations']> => (await readDescribed()).operations;

/** What every error code means. */
export const readErrors = async (): Promise<Described['errors']> => (await readDescribed()).errors;

export function refuseUnknown(name: string, names: readonly string[]): never {
  const hint = suggest(name, names, 'List them with: plinthctl call');
  throw new CommandError(`There is no operation ${name}. ${hint}`, 'no_operation');
}
