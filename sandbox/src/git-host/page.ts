// Renders the git host's web pages: the repositories, their pull requests, and a pull request's diff.
import { type Html, html, linkUrls, renderTime } from '../pages/html.ts';
import type { Page } from '../pages/page.ts';
import type { PullRequest } from './pulls.ts';
import type { Repository } from './repositories.ts';

const maxDiffCharacters = 400_000;

export interface HomePage {
  readonly repositories: readonly Repository[];
  /** The pull requests of all repositories, oldest first. */
  readonly pulls: readonly PullRequest[];
  readonly origin: string;
  readonly startPage: string | undefined;
}

export const toHomePage = ({ repositories, pulls, origin, startPage }: HomePage): Page => ({
  title: 'Git host',
  main: html`<h1>Git host</h1>
<p class="quiet">Stands in for GitHub. The pull requests of coding sessions appear here.</p>
${repositories.length === 0 ? html`<div class="card"><p>There are no repositories yet.</p></div>` : repositories.map((repository) => renderRepository(repository, pulls, origin))}`,
  startPage,
});

export const toRepositoryPage = (repository: Repository, { pulls, origin, startPage }: HomePage): Page => ({
  title: repository.full_name,
  main: html`<h1>Git host</h1>
<p><a href="/">All repositories</a></p>
${renderRepository(repository, pulls, origin)}`,
  startPage,
});

function renderRepository(repository: Repository, pulls: readonly PullRequest[], origin: string): Html {
  const own = pulls.filter((pull) => pull.repository === repository.full_name).toReversed();
  const path = pathOf(repository.full_name);
  return html`<section class="card">
<div class="heading"><h2><a href="${path}">${repository.full_name}</a></h2><span class="quiet">default branch <code>${repository.default_branch}</code></span></div>
<p class="quiet"><code>git clone ${origin}${path}.git</code></p>
${own.length === 0 ? html`<p>No pull requests yet.</p>` : html`<ul class="plain">${own.map(renderItem)}</ul>`}
</section>`;
}

const renderItem = (pull: PullRequest): Html =>
  html`<li><a href="${pathOf(pull.repository)}/pull/${pull.number}">#${pull.number} ${pull.title}</a> ${renderState(pull)}</li>`;

/** A name may contain anything but a slash, so its parts are encoded. */
const pathOf = (fullName: string): string => `/${fullName.split('/').map(encodeURIComponent).join('/')}`;

function renderState({ state, merged_at }: PullRequest): Html {
  if (merged_at !== null) return html`<span class="badge done">merged</span>`;
  return html`<span class="badge ${state === 'open' ? 'good' : 'bad'}">${state}</span>`;
}

export function toPullPage(pull: PullRequest, diff: string, startPage: string | undefined): Page {
  // Like GitHub, does not show HTML comments in a description.
  const body = (pull.body ?? '').replace(/<!--.*?-->/gs, '').trim();
  const files = splitDiff(diff.slice(0, maxDiffCharacters));
  return {
    title: pull.title,
    main: html`<p><a href="/">All repositories</a> / <a href="${pathOf(pull.repository)}">${pull.repository}</a></p>
<h1>${pull.title} <span class="quiet">#${pull.number}</span></h1>
<p>${renderState(pull)} From <code>${pull.head}</code> into <code>${pull.base}</code>, opened ${renderTime(Date.parse(pull.created_at))}</p>
<section class="card"><h2>Description</h2>
${body === '' ? html`<p class="quiet">No description.</p>` : html`<p class="written">${linkUrls(body)}</p>`}</section>
<h2>${files.length === 1 ? '1 changed file' : `${files.length} changed files`}</h2>
${files.map(renderFile)}
${diff.length > maxDiffCharacters ? html`<p>The rest of the diff is not shown.</p>` : undefined}`,
    startPage,
  };
}

/** Splits a diff into those of its files, each as lines. */
const splitDiff = (diff: string): string[][] =>
  diff
    .split(/^(?=diff --git )/m)
    .filter((file) => file.trim() !== '')
    .map((file) => file.trimEnd().split('\n'));

function renderFile(lines: readonly string[]): Html {
  // The lines before the first `@@` name the file, the modes and the commits.
  const start = lines.findIndex((line) => line.startsWith('@@'));
  const head = start === -1 ? lines : lines.slice(0, start);
  const changes = start === -1 ? lines.slice(1) : lines.slice(start);
  return html`<section class="card diff"><h3><code>${nameFile(head)}</code></h3>
<pre tabindex="0" aria-label="Changes of ${nameFile(head)}">${changes.map(renderLine)}</pre></section>`;
}

/** Returns the name after the change, or before it if the file was deleted. */
function nameFile(head: readonly string[]): string {
  const find = (pattern: RegExp) => head.map((line) => pattern.exec(line)?.[1]).find((name) => name !== undefined);
  return (
    find(/^\+\+\+ "?b\/(.*?)"?\t?$/) ?? find(/^--- "?a\/(.*?)"?\t?$/) ?? find(/^diff --git .* "?b\/(.*?)"?$/) ?? 'file'
  );
}

const kinds: Readonly<Record<string, string>> = { '+': 'add', '-': 'del', '@': 'hunk' };

const renderLine = (line: string): Html => html`<span class="${kinds[line.charAt(0)] ?? ''}">${line}</span>`;
