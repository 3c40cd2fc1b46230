// A check of `plinth doctor`: what it is given, its result, and running checks together within their time limits.
import type { Config, SettingFault } from '../../config.ts';

/**
 * `works`: checked and good. `not_configured`: off, and nothing needs it. `missing`: Plinth needs it, and it is not
 * there. `broken`: configured, but it does not work.
 */
export type Outcome = 'works' | 'not_configured' | 'missing' | 'broken';

export interface CheckResult {
  readonly outcome: Outcome;
  /** What was found, and what follows from it or what to do about it. Contains no secrets. */
  readonly message: string;
  /** Set if the part could not be checked because another one does not work. The summary names only the other one. */
  readonly because?: string;
}

export interface CheckContext {
  /** The valid settings. */
  readonly config: Partial<Config>;
  readonly faults: readonly SettingFault[];
  /** Whether the environment has a value for the setting. */
  isSet(name: keyof Config): boolean;
  /** Whether the model is tried, too. */
  readonly isModelTried: boolean;
  /** Removes secrets from a text that another program wrote. */
  redact(text: string): string;
}

export interface Check {
  /** The part of the installation, as shown to the operator. */
  readonly part: string;
  /** How long the check may take. Default: 8,000. */
  readonly limitMs?: number;
  run(context: CheckContext, signal: AbortSignal): Promise<CheckResult>;
}

export interface PartResult extends CheckResult {
  readonly part: string;
}

export const works = (message: string): CheckResult => ({ outcome: 'works', message });
export const notConfigured = (message: string): CheckResult => ({ outcome: 'not_configured', message });
export const missing = (message: string): CheckResult => ({ outcome: 'missing', message });
export const broken = (message: string): CheckResult => ({ outcome: 'broken', message });

/** Runs all checks at the same time. A check that throws or hangs does not affect the others. */
export const runChecks = (checks: readonly Check[], context: CheckContext): Promise<PartResult[]> =>
  Promise.all(checks.map(async (check) => ({ part: check.part, ...(await runCheck(check, context)) })));

const defaultLimitMs = 8_000;

async function runCheck({ run, limitMs = defaultLimitMs }: Check, context: CheckContext): Promise<CheckResult> {
  const stop = new AbortController();
  const timeUp = Promise.withResolvers<CheckResult>();
  const timer = setTimeout(
    () => timeUp.resolve(broken(`There was no answer within ${limitMs / 1000} seconds. See whether it is overloaded.`)),
    limitMs,
  );
  try {
    return await Promise.race([run(context, stop.signal), timeUp.promise]);
  } catch (error) {
    if (error instanceof InvalidSetting) return broken(error.message);
    return broken(`The check failed: ${describeReason(error, context)}.`);
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

/** Thrown if a setting is invalid. The check of the settings explains it. */
export class InvalidSetting extends Error {}

/** Returns a setting. Throws if its text is invalid, which the check of the settings explains. */
export function readSetting<Name extends keyof Config>({ config, faults }: CheckContext, name: Name): Config[Name] {
  if (faults.some((fault) => fault.name === name))
    throw new InvalidSetting(`${name} is not valid: see settings. The rest was not checked.`);
  return config[name] as Config[Name];
}

const maxReasonLength = 300;

/** A failure in one line, as another program described it, without secrets and without a full stop. */
export function describeReason(error: unknown, { redact }: Pick<CheckContext, 'redact'>): string {
  const text = redact(toText(error))
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed on purpose
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim();
  return text.slice(0, maxReasonLength).replace(/\.$/, '');
}

function toText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.message === '') return toText(error.errors[0]);
  // `fetch failed` says nothing; its cause does.
  if (error.message === 'fetch failed' && error.cause !== undefined) return toText(error.cause);
  return error.message || ((error as NodeJS.ErrnoException).code ?? error.name);
}
