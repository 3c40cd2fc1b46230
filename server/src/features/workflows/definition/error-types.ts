// The error types (docs/api/workflows.md#errors) that definitions name and runs compare.
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

/**
 * Turns `https://serverlessworkflow.io/spec/1.0.0/errors/timeout` into `timeout`. Other types are returned unchanged.
 */
export function toShortType(type: string): string {
  const short = standardUri.exec(type)?.[1];
  return errorTypes.find((known) => known === short) ?? type;
}
