// How commands end: the exit codes (docs/guides/plinthctl.md#exit-codes), and what is said about a failure.
import { PlinthError } from '../../sdk/src/index.ts';

export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  signIn: 4,
  outcomeUnknown: 5,
  partial: 6,
  conflict: 7,
  failed: 75,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A failure of the command itself: its message says what happened and what to do next. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;
  readonly code: string;

  constructor(message: string, code: string = 'usage', exitCode: ExitCode = exitCodes.usage) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

export interface Failure {
  readonly exitCode: ExitCode;
  /** One line of JSON for programs. */
  readonly problem: Readonly<Record<string, unknown>>;
  /** Sentences for people. */
  readonly text: string;
}

/** Returns undefined if the error is a mistake in plinthctl, whose stack should be seen. */
export function describeFailure(error: unknown): Failure | undefined {
  if (error instanceof CommandError) {
    const { message, code, exitCode } = error;
    return { exitCode, problem: { code, detail: message }, text: message };
  }
  if (error instanceof PlinthError) return describeRefusal(error);
  // What the client says of its arguments.
  if (error instanceof TypeError && /^[\w ]+: |^The /.test(error.message)) {
    return { exitCode: exitCodes.usage, problem: { code: 'usage', detail: error.message }, text: error.message };
  }
  return undefined;
}

function describeRefusal(error: PlinthError): Failure {
  const { code, status, operation, requestId, retrySafe, outcomeUnknown, idempotencyKey, details, faults } = error;
  const detail = error.message.slice(operation.length + 2);
  const problem = {
    code,
    ...(status !== undefined && { status }),
    operation,
    detail,
    ...(requestId !== undefined && { request_id: requestId }),
    retry_safe: retrySafe,
    outcome_unknown: outcomeUnknown,
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
    ...details,
    ...(faults.length > 0 && { faults }),
  };
  return {
    exitCode: chooseExitCode(error),
    problem,
    text: [`${error.message} (${code})`, ...advise(error)].join('\n'),
  };
}

function chooseExitCode({ status, retrySafe, outcomeUnknown, code }: PlinthError): ExitCode {
  if (outcomeUnknown) return exitCodes.outcomeUnknown;
  if (status === 401) return exitCodes.signIn;
  if (status === 409 || status === 412) return exitCodes.conflict;
  const isTemporary =
    status === undefined ? code === 'unreachable' || code === 'timeout' : status === 429 || status >= 500;
  return isTemporary && (retrySafe || status === undefined) ? exitCodes.failed : exitCodes.refused;
}

function advise({ status, outcomeUnknown, idempotencyKey, requestId, code }: PlinthError): string[] {
  const advice: string[] = [];
  if (outcomeUnknown) {
    advice.push('Nobody knows whether this took effect. Look before you repeat it.');
    if (idempotencyKey !== undefined)
      advice.push(`With --idempotency-key ${idempotencyKey} the same call can be repeated: it takes effect once.`);
  }
  if (code === 'unreachable' || code === 'timeout')
    advice.push('plinthctl status says whether the installation answers.');
  if (status === 401)
    advice.push(
      process.env.PLINTH_TOKEN
        ? 'PLINTH_TOKEN is set, and comes before the token of your profile. Correct it, or remove it with: unset PLINTH_TOKEN'
        : 'Log in with: plinthctl login',
    );
  if (status === 403 && code !== 'unexpected_answer') advice.push('plinthctl explain says which check refused it.');
  if (requestId !== undefined && status !== undefined && status >= 500) advice.push(`Request: ${requestId}`);
  return advice;
}
