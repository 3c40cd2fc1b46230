// An advisory's severity, taken from its database or from the CVSS base score.
import type { Advisory } from '../../../gateways/advisories/index.ts';
import type { Severity } from '../finding.ts';

const words: Readonly<Record<string, Severity>> = {
  CRITICAL: 'critical',
  HIGH: 'high',
  MODERATE: 'medium',
  MEDIUM: 'medium',
  LOW: 'low',
};

export function severityOf({ id, severity, database_specific }: Advisory): Severity {
  const word = words[database_specific?.severity?.toUpperCase() ?? ''];
  if (word !== undefined) return word;
  // Advisories about malicious packages have no score.
  if (id.startsWith('MAL-')) return 'critical';
  const scores = severity.flatMap(({ score }) => scoreOf(score) ?? []);
  return scores.length === 0 ? 'medium' : rate(Math.max(...scores));
}

const rate = (score: number): Severity =>
  score >= 9 ? 'critical' : score >= 7 ? 'high' : score >= 4 ? 'medium' : 'low';

/** Reads a score, either from a number or from a vector such as `CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H`. */
export function scoreOf(text: string): number | undefined {
  if (/^\d{1,2}(?:\.\d)?$/.test(text)) return Number(text);
  const metrics = new Map(text.split('/').map((part) => part.split(':', 2) as [string, string]));
  if (text.startsWith('CVSS:3')) return scoreOfVersion3(metrics);
  return text.startsWith('CVSS:4') ? scoreOfVersion4(metrics) : undefined;
}

type Metrics = ReadonlyMap<string, string>;

/** Implements section 7.1 of https://www.first.org/cvss/v3.1/specification-document. */
function scoreOfVersion3(metrics: Metrics): number | undefined {
  const isChanged = metrics.get('S') === 'C';
  const weigh = (name: string, weights: Readonly<Record<string, number>>) => weights[metrics.get(name) ?? ''];
  const impactWeights = { H: 0.56, L: 0.22, N: 0 };
  const privileges = isChanged ? { N: 0.85, L: 0.68, H: 0.5 } : { N: 0.85, L: 0.62, H: 0.27 };
  const values = [
    weigh('C', impactWeights),
    weigh('I', impactWeights),
    weigh('A', impactWeights),
    weigh('AV', { N: 0.85, A: 0.62, L: 0.55, P: 0.2 }),
    weigh('AC', { L: 0.77, H: 0.44 }),
    weigh('PR', privileges),
    weigh('UI', { N: 0.85, R: 0.62 }),
  ];
  if (values.some((value) => value === undefined)) return undefined;
  const [c = 0, i = 0, a = 0, ...reach] = values.map(Number);
  const base = 1 - (1 - c) * (1 - i) * (1 - a);
  const impact = isChanged ? 7.52 * (base - 0.029) - 3.25 * (base - 0.02) ** 15 : 6.42 * base;
  const exploitability = 8.22 * reach.reduce((product, value) => product * value, 1);
  if (impact <= 0) return 0;
  return roundUp(Math.min(isChanged ? 1.08 * (impact + exploitability) : impact + exploitability, 10));
}

/** Rounds up to one decimal, without floating-point errors. */
function roundUp(value: number): number {
  const whole = Math.round(value * 100_000);
  return whole % 10_000 === 0 ? whole / 100_000 : (Math.floor(whole / 10_000) + 1) / 10;
}

/**
 * Estimates the score. Version 4 looks up scores in a table of 270 vector groups. The scores depend mainly on the
 * impact on the vulnerable system and on the attack requirements.
 */
function scoreOfVersion4(metrics: Metrics): number {
  const impacts = ['VC', 'VI', 'VA'].map((name) => metrics.get(name));
  const highs = impacts.filter((value) => value === 'H').length;
  if (highs === 0) return impacts.includes('L') ? 5 : 3;
  const isEasy =
    metrics.get('AV') === 'N' && metrics.get('AC') === 'L' && metrics.get('PR') === 'N' && metrics.get('UI') === 'N';
  if (!isEasy) return highs === 3 ? 7 : 6;
  return highs === 3 ? 9.3 : 8.7;
}
