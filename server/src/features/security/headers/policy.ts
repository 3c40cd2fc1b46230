// Decides what a `Content-Security-Policy` allows: scripts, judged by Google's CSP evaluator, and framing the app.
import { CspEvaluator } from 'csp_evaluator/dist/evaluator.js';
import { Severity, Type } from 'csp_evaluator/dist/finding.js';
import { CspParser } from 'csp_evaluator/dist/parser.js';

/** App settings can't contain longer policies. Anything beyond this length is cut off. */
const maxPolicyLength = 8_192;
const maxPolicies = 8;

/** A header may contain several policies, separated by commas. Browsers apply each one separately. */
export const splitPolicies = (header: string): string[] =>
  header
    .split(',')
    .slice(0, maxPolicies)
    .map((policy) => policy.trim().slice(0, maxPolicyLength))
    .filter(Boolean);

/** The reason why foreign scripts can run under all of these policies, or `undefined` if one of them prevents it. */
export function findScriptFault(policies: readonly string[]): string | undefined {
  const faults = policies.map(faultOf);
  return faults.includes(undefined) ? undefined : faults[0];
}

const reasons: Readonly<Partial<Record<Type, string>>> = {
  [Type.MISSING_DIRECTIVES]: 'The policy does not limit the sources of scripts, plugins or the base URL.',
  [Type.SCRIPT_UNSAFE_INLINE]: "The policy allows inline scripts ('unsafe-inline'), which can be injected.",
  [Type.SCRIPT_UNSAFE_EVAL]: "The policy allows text to be run as code ('unsafe-eval').",
  [Type.PLAIN_URL_SCHEMES]: 'The policy allows scripts from any URL with a given scheme, such as https: or data:.',
  [Type.PLAIN_WILDCARD]: 'The policy allows scripts from any source (*).',
  [Type.SCRIPT_ALLOWLIST_BYPASS]: 'The policy allows scripts from a host where anyone can publish scripts.',
  [Type.OBJECT_ALLOWLIST_BYPASS]: 'The policy allows plugins from a host where anyone can publish files.',
};

function faultOf(policy: string): string | undefined {
  const findings = new CspEvaluator(new CspParser(policy).csp).evaluate();
  const grave = findings.find(({ severity, type }) => severity === Severity.HIGH || type === Type.SCRIPT_UNSAFE_EVAL);
  return grave && (reasons[grave.type] ?? 'The policy allows third-party scripts to run.');
}

/** `open` means that every page may frame the app. `unset` means that no policy restricts frames. */
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
