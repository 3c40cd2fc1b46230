// The pages of the git host for people: repositories, their pull requests, and the diff of one.
import type { PullRequest } from './pulls.ts';
import type { Repository } from './repositories.ts';

const maxDiffCharacters = 400_000;

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const layout = (title: string, content: string): string => `<!doctype html><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1f2328}
a{color:#0a58ca}pre{background:#f6f8fa;padding:1rem;overflow:auto;font-size:13px;line-height:1.4}.add{color:#116329}
.del{color:#a40e26}.state{border:1px solid;border-radius:1rem;padding:0 .6rem;font-size:13px}.body{white-space:pre-wrap}</style>
${content}`;

export const renderHome = (repositories: readonly Repository[], pulls: readonly PullRequest[]): string =>
  layout(
    'Git host of the sandbox',
    `<h1>Git host of the sandbox</h1>${repositories
      .map((repository) => {
        const own = pulls.filter((pull) => pull.repository === repository.full_name).toReversed();
        const items = own.map((pull) => `<li>${renderLink(pull)} ${renderState(pull)}`).join('');
        return `<h2>${escapeHtml(repository.full_name)}</h2>${own.length === 0 ? '<p>No pull requests.</p>' : `<ul>${items}</ul>`}`;
      })
      .join('')}`,
  );

const renderLink = ({ repository, number, title }: PullRequest) =>
  `<a href="/${escapeHtml(repository)}/pull/${number}">#${number} ${escapeHtml(title)}</a>`;

const renderState = ({ state, merged_at }: PullRequest) =>
  `<span class="state">${merged_at === null ? state : 'merged'}</span>`;

export function renderPull(pull: PullRequest, diff: string): string {
  const lines = diff
    .slice(0, maxDiffCharacters)
    .split('\n')
    .map((line) => {
      const kind = /^\+(?!\+\+ )/.test(line) ? 'add' : /^-(?!-- )/.test(line) ? 'del' : '';
      return kind === '' ? escapeHtml(line) : `<span class="${kind}">${escapeHtml(line)}</span>`;
    });
  // As GitHub, which does not show comments of HTML in a description.
  const body = (pull.body ?? '').replace(/<!--.*?-->/gs, '').trim();
  return layout(
    pull.title,
    `<p><a href="/">All pull requests</a> of ${escapeHtml(pull.repository)}</p>
<h1>${escapeHtml(pull.title)} #${pull.number} ${renderState(pull)}</h1>
<p>From <code>${escapeHtml(pull.head)}</code> into <code>${escapeHtml(pull.base)}</code></p>
<div class="body">${escapeHtml(body)}</div><pre>${lines.join('\n')}</pre>${
      diff.length > maxDiffCharacters ? '<p>The rest of the diff is not shown.</p>' : ''
    }`,
  );
}
