// `plinthctl app`: lists, creates, pushes, previews and publishes apps, and restores their revisions.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { App, Deployed, PlinthApp, Preview, RevisionRestored } from '../../../sdk/src/index.ts';
import { openPage } from '../browser.ts';
import type { Cli, Define } from '../cli.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { findId } from '../names.ts';
import { type AppOption, appOption } from '../options.ts';
import { facts, table } from '../output.ts';
import { writeProject } from '../project.ts';
import { type Pushed, push } from '../sync/push.ts';
import { parseNumber } from '../values.ts';

interface CreateOptions {
  readonly description?: string;
}

interface PushFlags extends AppOption {
  readonly publish?: boolean;
  readonly delete?: boolean;
  readonly force?: boolean;
  readonly split?: boolean;
}

interface RestoreFlags extends AppOption {
  readonly dryRun?: boolean;
  readonly openRules?: boolean;
}

interface PreviewFlags extends AppOption {
  readonly as?: string;
}

interface ListFlags {
  readonly search?: string;
  readonly limit: number;
}

export const define: Define = (command, cli) => {
  command
    .command('list')
    .description('List your apps, the last changed first')
    .option('--search <text>', 'only those whose name contains this text')
    .option('--limit <number>', 'at most so many; 100 by default', parseNumber, 100)
    .action((flags: ListFlags) => list(cli, flags));
  command
    .command('create')
    .description('Create an app, and name it in plinth.json, which commands in this folder read')
    .argument('<name>', 'such as "Tea shop"')
    .option('--description <text>', 'what the app is for')
    .action((name: string, options: CreateOptions) => create(cli, name, options));
  command
    .command('push')
    .description('Upload the files of a folder to the app, in one revision')
    .argument('[folder]', 'its files become those of the app; pages must be in public/ or dist/ in it', '.')
    .option(...appOption)
    .option('--publish', 'publish the app afterwards')
    .option('--delete', 'remove files of the app that the folder does not have')
    .option('--force', 'replace files that others have changed since the last push from here')
    .option('--split', 'push more than 10 MiB, as several revisions')
    .action((folder: string, flags: PushFlags) => pushFolder(cli, folder, flags));
  command
    .command('publish')
    .description("Put the app's files on the web")
    .option(...appOption)
    .action(async ({ app: named }: AppOption) => {
      const { app } = await cli.connectToApp(named);
      const deployed = await publish(cli, app);
      await cli.output.show(deployed, () => describeDeployed(deployed));
    });
  command
    .command('preview')
    .description('Open a revision in a browser before it is published, with the live data, for a day')
    .argument('[revision]', 'by default the present one, also after changes', parseNumber)
    .option(...appOption)
    .option('--as <user>', 'the id or e-mail address of the user of the app who is signed in for an hour')
    .action((revision: number | undefined, flags: PreviewFlags) => preview(cli, revision, flags));
  command
    .command('revisions')
    .description('List the newest revisions of the app: what made each, who, and what it changed')
    .option(...appOption)
    .option('--limit <number>', 'at most so many; 20 by default', parseNumber, 20)
    .action(async ({ app: named, limit }: AppOption & { readonly limit: number }) => {
      const { app } = await cli.connectToApp(named);
      const revisions = await app.listRevisions().take(limit);
      await cli.output.show(revisions, () =>
        table(revisions, [
          ['revision', ({ revision, live, kept }) => `${revision}${live ? ' live' : ''}${kept ? '' : ' not kept'}`],
          ['made', ({ created_date }) => created_date],
          ['by', ({ actor }) => actor ?? ''],
          ['cause', ({ cause, restored_revision }) => `${cause} ${restored_revision ?? ''}`.trim()],
          ['files', ({ files }) => `+${files.added} ~${files.changed} -${files.removed}`],
          ['summary', ({ summary, entities }) => summary ?? entities.join(', ')],
        ]),
      );
    });
  command
    .command('restore')
    .description('Restore the files, schemas and headers of an earlier revision as a new one')
    .argument('<revision>', 'its number')
    .option(...appOption)
    .option('--dry-run', 'only say what would change')
    .option('--open-rules', 'even if rules of the revision open data that is protected now')
    .action((revision: string, flags: RestoreFlags) => restore(cli, revision, flags));
  command
    .command('status')
    .description('Show the state of the app, and what of it is published')
    .option(...appOption)
    .action(async ({ app: named }: AppOption) => {
      const { app } = await cli.connectToApp(named);
      const state = await app.getApp();
      await cli.output.show(state, () => describeApp(state));
    });
  command
    .command('open')
    .description('Open the published app in a browser')
    .option(...appOption)
    .action(async ({ app: named }: AppOption) => {
      const { app } = await cli.connectToApp(named);
      const { published } = await app.getApp();
      if (published === null)
        throw new CommandError(
          'The app is not published. Publish it with: plinthctl app publish',
          'not_published',
          exitCodes.refused,
        );
      await openPage(cli.output, published.url);
    });
};

async function list(cli: Cli, { search, limit }: ListFlags): Promise<void> {
  const { plinth } = await cli.connect();
  const apps = plinth.listApps({ sort: '-updated_date', ...(search !== undefined && { search }) });
  const found = await apps.take(limit + 1);
  const items = found.slice(0, limit);
  if (found.length > limit) cli.output.say(`There are more than ${limit} apps. Pass --limit or --search.`);
  await cli.output.show({ items }, () =>
    table(
      items,
      [
        ['app', ({ name }) => name],
        ['type', ({ app_type }) => app_type.replace('_', ' ')],
        ['revision', ({ revision }) => revision],
        ['published', ({ published }) => published?.url ?? 'no'],
        ['id', ({ id }) => id],
      ],
      search === undefined ? 'There is no app yet. Create one with: plinthctl app create "Tea shop"' : undefined,
    ),
  );
}

async function create(cli: Cli, name: string, { description }: CreateOptions): Promise<void> {
  const folder = process.cwd();
  if (existsSync(join(folder, 'plinth.json')))
    throw new CommandError(
      'This folder has a plinth.json, which names an app already. Create the app in another folder.',
      'file_exists',
    );
  const { plinth, url } = await cli.connect();
  const app = await plinth.createApp({ name, ...(description !== undefined && { user_description: description }) });
  await writeProject(folder, { app_id: app.id, url });
  await cli.output.show(
    app,
    () => `Created ${app.name}. plinth.json names it, so commands in this folder are about this app.`,
  );
}

async function pushFolder(cli: Cli, folder: string, flags: PushFlags): Promise<void> {
  const { app, app_id } = await cli.connectToApp(flags.app);
  const { output, prompts } = cli;
  let total = 0;
  const bar = output.progress('Pushing');
  const pushing = push(app, {
    app_id,
    folder: resolve(folder),
    removes: flags.delete ?? false,
    forces: flags.force ?? false,
    splits: flags.split ?? false,
    signal: cli.signal,
    confirm: (paths) => prompts.confirm(`This removes from the app: ${paths.join(', ')}.`),
    onProgress: (sent, files) => {
      total = files;
      bar.set(`${sent} of ${files} files`);
    },
  });
  const pushed = await pushing.finally(bar.end);
  if (total === 0) output.say('The app has these files already.');
  const { served, notServed, ...changes } = pushed;
  if (served === 0)
    output.say('No file of the app is in public/ or dist/, so nothing of it is served. Move its pages to public/.');
  const show = (deployed?: Deployed) =>
    output.show({ ...changes, published: deployed ?? null }, () =>
      [...describePushed(pushed), ...(deployed === undefined ? [] : [describeDeployed(deployed)])].join('\n'),
    );
  if (!flags.publish) return show();
  const deployed = await publish(cli, app).catch(async (error: unknown) => {
    await show();
    output.say(
      `The files are pushed, as revision ${pushed.revision}, but they are not published. Publish them later with: plinthctl app publish`,
    );
    throw error;
  });
  await show(deployed);
}

async function preview(cli: Cli, revision: number | undefined, { app: named, as }: PreviewFlags): Promise<void> {
  const { app, app_id, plinth } = await cli.connectToApp(named);
  const app_user_id = as === undefined ? undefined : await findId(plinth, 'user_id', as, { app_id });
  const created = await app.createPreview({
    ...(revision !== undefined && { revision }),
    ...(app_user_id !== undefined && { app_user_id }),
  });
  if (created.url === null) return cli.output.show(created);
  await openPage(cli.output, created.url, { shown: created, text: describePreview(created) });
}

/** Asks before it restores, and refuses if the app has changed since what was shown. */
async function restore(cli: Cli, revision: string, { app: named, dryRun, openRules }: RestoreFlags): Promise<void> {
  const { app } = await cli.connectToApp(named);
  const { output, prompts } = cli;
  const planned = await app.restoreRevision({ revision, dry_run: true });
  if (dryRun) return output.show(planned, () => describeRestored(planned));
  output.say(describeRestored(planned));
  await prompts.confirm(
    `This makes revision ${planned.revision + 1} of the app, like revision ${revision} was. Records stay as they are.`,
  );
  const opened = planned.impact.newly_open.map(({ entity, operation }) => ({ entity, operation }));
  const restored = await app.restoreRevision({
    revision,
    expected_revision: planned.revision,
    ...(openRules && { opens: opened }),
  });
  await output.show(
    restored,
    () =>
      `Revision ${restored.revision} of the app is like revision ${revision} was. What is published stays as it is until: plinthctl app publish`,
  );
}

const publish = (cli: Cli, app: PlinthApp): Promise<Deployed> =>
  cli.output.during('Publishing', app.publishApp({}, { signal: cli.signal }));

function describePushed({ revision, created, updated, deleted, kept, served, notServed }: Pushed): string[] {
  return [
    `Revision ${revision}: ${created.length} created, ${updated.length} updated, ${deleted.length} removed.`,
    ...(kept.length > 0 ? [`Only in the app: ${shorten(kept)}. --delete removes them.`] : []),
    ...(served > 0 && notServed.length > 0
      ? [`Stored, but not served: ${shorten(notServed)}. To leave files out, name them in .plinthignore.`]
      : []),
  ];
}

const shorten = (paths: readonly string[]): string =>
  `${paths.slice(0, 5).join(', ')}${paths.length > 5 ? ` and ${paths.length - 5} more` : ''}`;

const describeDeployed = ({ url, revision, changes, warnings }: Deployed): string =>
  [
    `Published revision ${revision}: ${changes.added} ${changes.added === 1 ? 'file' : 'files'} added, ${changes.changed} changed, ${changes.removed} removed.`,
    ...warnings.map(({ message, path }) => `Warning: ${path === undefined ? '' : `${path}: `}${message}`),
    url,
  ].join('\n');

const describePreview = ({ url, revision, follows, signed_in_as, sandboxed }: Preview): string =>
  [
    `Revision ${revision}${follows ? ' and what follows' : ''}, ${signed_in_as === null ? 'nobody is signed in' : `as ${signed_in_as.email}`}. Data is live.`,
    ...(sandboxed ? ['The installation has no domain for apps, so the pages reach no data.'] : []),
    url,
  ].join('\n');

/** Only what differs: most restores change a few files. */
function describeRestored({
  restored_revision,
  changes: { files, entities, headers },
  impact,
}: RevisionRestored): string {
  const opened = impact.newly_open.map(({ entity, operation }) => `${entity} ${operation}`);
  const differences = {
    'files added': files.created,
    'files changed': files.updated,
    'files removed': files.deleted,
    'schemas added': entities.created,
    'schemas changed': entities.updated,
    'schemas removed': entities.deleted,
    headers: headers ? ['changed'] : [],
    'data that becomes open': opened,
  };
  const shown = Object.entries(differences).filter(([, names]) => names.length > 0);
  return shown.length === 0
    ? `The app is like revision ${restored_revision} already.`
    : facts(Object.fromEntries(shown.map(([title, names]) => [title, names.join(', ')])));
}

const describeApp = ({ name, status, revision, published, owner_email, id }: App): string =>
  facts({
    app: `${name} (${id})`,
    state: status.message === '' ? status.state : `${status.state}: ${status.message}`,
    owner: owner_email,
    revision,
    published:
      published === null
        ? 'no'
        : `revision ${published.revision} at ${published.url}${published.revision < revision ? ', so there are changes that are not published' : ''}`,
  });
