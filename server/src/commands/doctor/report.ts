// The report of `plinth doctor`: its exit status, and its form as text or JSON.
import { version } from '../../release.ts';
import type { Outcome, PartResult } from './check.ts';
import type { ModelTrial } from './model.ts';

const labels: Readonly<Record<Outcome, string>> = {
  works: 'works',
  not_configured: 'not configured',
  missing: 'missing',
  broken: 'does not work',
};

/** 2 if something needed is missing, otherwise 1 if something configured does not work. */
export function toExitStatus(parts: readonly PartResult[]): 0 | 1 | 2 {
  const has = (outcome: Outcome) => parts.some((part) => part.outcome === outcome);
  return has('missing') ? 2 : has('broken') ? 1 : 0;
}

export function formatText(parts: readonly PartResult[], trial: ModelTrial | undefined): string {
  const labelWidth = Math.max(...Object.values(labels).map(({ length }) => length));
  const partWidth = Math.max(...parts.map(({ part }) => part.length));
  const lines = parts.map(
    ({ part, outcome, message }) => `${part.padEnd(partWidth)}  ${labels[outcome].padEnd(labelWidth)}  ${message}`,
  );
  return [
    ...lines,
    '',
    ...(trial === undefined ? [] : [trial.verdict, describeCost(trial)]),
    summarize(parts),
    '',
  ].join('\n');
}

function describeCost({ cost: { requests, promptTokens, completionTokens, isEstimated } }: ModelTrial): string {
  const source = isEstimated
    ? 'partly estimated, because the server did not report all of them'
    : 'as the server reported';
  return `The trial took ${requests} requests, ${promptTokens} tokens of prompts and ${completionTokens} of replies (${source}).`;
}

function summarize(parts: readonly PartResult[]): string {
  const list = (outcome: Outcome) =>
    parts.filter((each) => each.outcome === outcome && each.because === undefined).map(({ part }) => part);
  const [absent, faulty] = [list('missing'), list('broken')];
  const sentences = [
    ...(absent.length > 0 ? [`Needed, but missing: ${absent.join(', ')}.`] : []),
    ...(faulty.length > 0 ? [`Configured, but does not work: ${faulty.join(', ')}.`] : []),
  ];
  return sentences.length > 0 ? sentences.join(' ') : 'Everything that is configured works.';
}

/** The same content as the text, for programs. */
export function formatJson(parts: readonly PartResult[], trial: ModelTrial | undefined): string {
  const document = {
    version,
    exit_status: toExitStatus(parts),
    summary: summarize(parts),
    checks: parts.map(({ part, outcome, message }) => ({ part, outcome, message })),
    ...(trial !== undefined && {
      model: {
        can_build_apps: trial.canBuildApps,
        verdict: trial.verdict,
        longest_prompt_tokens: trial.longestPromptTokens,
        failed_prompt_tokens: trial.failedPromptTokens,
        requests: trial.cost.requests,
        prompt_tokens: trial.cost.promptTokens,
        completion_tokens: trial.cost.completionTokens,
        tokens_are_estimated: trial.cost.isEstimated,
      },
    }),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
