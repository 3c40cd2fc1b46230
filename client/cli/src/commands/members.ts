// `plinthctl members invite`: invites people to the workspace, by name or from a CSV file.
import { createReadStream } from 'node:fs';
import type { Invitation, InviteMembersBody, NotInvited } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { parseCsv } from '../csv.ts';
import { CommandError } from '../exit.ts';
import { table } from '../output.ts';

interface InviteOptions {
  readonly role?: string;
  readonly csv?: string;
}

type Person = InviteMembersBody['invitations'][number];

export const define: Define = (command, cli) => {
  command
    .command('invite')
    .description('Invite people to the workspace')
    .argument('[email...]', 'their e-mail addresses')
    .option('--role <role>', 'admin, editor or viewer')
    .option('--csv <file>', 'a file with the column email, and role if they differ')
    .action((emails: readonly string[], options: InviteOptions) => invite(cli, emails, options));
};

/** A request invites at most this many. */
const maxPeople = 50;

async function invite(cli: Cli, emails: readonly string[], { role, csv }: InviteOptions): Promise<void> {
  const listed = csv === undefined ? [] : await readPeople(csv);
  const people = [...emails.map((email): Person => ({ email })), ...listed].map((person) => ({
    ...(role !== undefined && { role: role as NonNullable<Person['role']> }),
    ...person,
  }));
  if (people.length === 0) throw new CommandError('Whom? Pass e-mail addresses, or --csv FILE.');
  const { plinth } = await cli.connect();
  const [invited, failed]: [Invitation[], NotInvited[]] = [[], []];
  const bar = cli.output.progress('Inviting', people.length);
  for (let first = 0; first < people.length; first += maxPeople) {
    const invitations = people.slice(first, first + maxPeople);
    const answer = await plinth.inviteMembers({ invitations }, { signal: cli.signal });
    invited.push(...answer.invited);
    failed.push(...answer.failed);
    bar.set(first + invitations.length);
  }
  bar.end();
  await cli.output.show({ invited, failed }, () =>
    table(
      [
        ...invited.map(({ email, role, mail, accept_url }) => ({
          email,
          role,
          outcome: mail === 'sent' ? 'invited by mail' : `no mail was sent; pass on ${accept_url ?? 'a new link'}`,
        })),
        ...failed.map(({ email, code }) => ({ email, role: '', outcome: code.replaceAll('_', ' ') })),
      ],
      [
        ['person', ({ email }) => email],
        ['role', ({ role }) => role],
        ['outcome', ({ outcome }) => outcome],
      ],
    ),
  );
}

async function readPeople(file: string): Promise<Person[]> {
  let names: string[] | undefined;
  const people: Person[] = [];
  const source = createReadStream(file, 'utf8');
  source.once('error', () => undefined);
  for await (const cells of parseCsv(source)) {
    if (names === undefined) {
      names = cells.map((name) => name.trim().toLowerCase());
      if (!names.includes('email')) throw new CommandError(`The first row of ${file} must have the column email.`);
      continue;
    }
    const row = Object.fromEntries(names.map((name, index) => [name, cells[index]?.trim() ?? '']));
    if (row.email)
      people.push({ email: row.email, ...(row.role && { role: row.role as NonNullable<Person['role']> }) });
  }
  return people;
}
