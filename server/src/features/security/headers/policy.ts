// Owns what a `Content-Security-Policy` lets through: scripts, by the evaluator of its inventors, and pages around the app.
import { CspEvaluator } from 'csp_evaluator/dist/evaluator.js';
import { Severity, Type } from 'csp_evaluator/dist/finding.js';
import { CspParser } from 'csp_evaluator/dist/parser.js';

/** Longer policies than an app's settings can have are cut. */
const maxPolicyLength = 8_192;
const maxPolicies = 8;

/** A header may have several policies, with commas. Browsers apply each on its own. */
export const splitPolicies = (header: string): string[] =>
  header
    .split(',')
    .slice(0, maxPolicies)
    .map((policy) => policy.trim().slice(0, maxPolicyLength))
    .filter(Boolean);

/** Why foreign scripts can run under all of these policies. Undefined: under one of them they can't. */
export function findScriptFault(policies: readonly string[]): string | undefined {
  const faults = policies.map(faultOf);
  return faults.includes(undefined) ? undefined : faults[0];
}

const reasons: Readonly<Partial<Record<Type, string>>> = {
  [Type.MISSING_DIRECTIVES]: 'It does not limit where scripts, plugins or the base address come from.',
  [Type.SCRIPT_UNSAFE_INLINE]: "It allows scripts within the page ('unsafe-inline'), which injected text can contain.",
  [Type.SCRIPT_UNSAFE_EVAL]: "It allows text to be run as a script ('unsafe-eval').",
  [Type.PLAIN_URL_SCHEMES]: 'It allows scripts from every address of a scheme, such as https: or data:.',
  [Type.PLAIN_WILDCARD]: 'It allows scripts from everywhere (*).',
  [Type.SCRIPT_ALLOWLIST_BYPASS]: 'It allows scripts from a host on which anybody can publish scripts.',
  [Type.OBJECT_ALLOWLIST_BYPASS]: 'It allows plugins from a host on which anybody can publish files.',
};

function faultOf(policy: string): string | undefined {
  const findings = new CspEvaluator(new CspParser(policy).csp).evaluate();
  const grave = findings.find(({ severity, type }) => severity === Severity.HIGH || type === Type.SCRIPT_UNSAFE_EVAL);
  return grave && (reasons[grave.type] ?? 'It lets scripts of others run.');
}

/** `open`: every page may show the app in a frame. `unset`: the policies don't say. */
export function findFrameRule(policies: readonly string[]): 'limited' | 'open' | 'unset' {
  const lists = policies.flatMap((policy) => {
    const directive = policy
      .split(';')
      .map((text) => text.trim().toLowerCase().split(/\s+/))
      .find(([name]) => name === 'frame-ancestors');
    return directive === undefined ? [] : [directive.slice(1)];
  });
  if (lists.length === 0) return 'unset';
  return lists.every((sources) => sources.some(allowsEverySite)) ? 'open' : 'limited';
}

const allowsEverySite = (source: string): boolean => /^(?:(?:https?|wss?):(?:\/\/\*?)?|\*(?::\*|:\d+)?)$/.test(source);
