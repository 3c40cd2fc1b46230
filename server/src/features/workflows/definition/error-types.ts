// Owns the types of errors (docs/api/workflows.md#errors), as definitions write them and as runs compare them.
import type { ErrorType } from './model.ts';

export const errorTypes = [
  'configuration',
  'validation',
  'expression',
  'authentication',
  'authorization',
  'timeout',
  'communication',
  'runtime',
] as const satisfies readonly ErrorType[];

const standardUri = /^https:\/\/(?:www\.)?serverlessworkflow\.io\/(?:spec|dsl)\/[\w.]+\/errors\/(?:types\/)?(\w+)$/;

/** `https://serverlessworkflow.io/spec/1.0.0/errors/timeout` is `timeout`; any other type stays as it is. */
export function toShortType(type: string): string {
  const short = standardUri.exec(type)?.[1];
  return errorTypes.find((known) => known === short) ?? type;
}
