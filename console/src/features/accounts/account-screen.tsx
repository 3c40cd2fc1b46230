// The own account: name, password, tokens of programs, and the browsers that are signed in.
import { Link } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import type { SubmitEvent } from 'react';
import { WorkspaceContext } from '../../data/client.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation } from '../../data/use-operation.ts';
import { Since } from '../../ui/age.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Field, faultOf } from '../../ui/field.tsx';
import { sayOutcome } from '../../ui/outcome.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Screen, Section } from '../../ui/screen.tsx';
import { formatNumber } from '../../ui/times.ts';
import { type Membership, Tokens } from './tokens.tsx';

interface AccountProps {
  readonly email: string;
  readonly fullName: string;
}

interface AccountScreenProps extends AccountProps {
  readonly workspaces: readonly Membership[];
}

export function AccountScreen({ email, fullName, workspaces }: AccountScreenProps) {
  return (
    <main className="h-full overflow-y-auto">
      <Screen
        title="Account"
        actions={
          <Link to="/" className={buttonClass('quiet')}>
            <ArrowLeft size={16} aria-hidden />
            Back
          </Link>
        }
      >
        <Name email={email} fullName={fullName} />
        <Password />
        <Sessions />
        {workspaces.length > 0 && <Credits workspaces={workspaces} />}
        {workspaces.length > 0 && <Tokens workspaces={workspaces} />}
      </Screen>
    </main>
  );
}

function Name({ email, fullName }: AccountProps) {
  const update = useChange('updateMe');
  const { error } = update;
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const full_name = String(new FormData(event.currentTarget).get('full_name'));
    sayOutcome(await update.perform({ full_name }), 'Saved.', 'Your name was not saved.');
  };
  return (
    <Section title="Name" hint={email}>
      <form onSubmit={(event) => void submit(event)} className="flex max-w-form flex-col gap-4">
        <Field
          label="Your name"
          name="full_name"
          defaultValue={fullName}
          required
          autoComplete="name"
          fault={faultOf(error, 'full_name')}
        />
        <div>
          <Button type="submit" isBusy={update.isSending}>
            Save
          </Button>
        </div>
      </form>
    </Section>
  );
}

function Password() {
  const change = useChange('changePassword');
  const { error } = change;
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const sent = new FormData(form);
    const ended = await change.perform({
      current_password: String(sent.get('current_password')),
      new_password: String(sent.get('new_password')),
    });
    if (!('data' in ended)) return;
    sayOutcome(ended, 'Your password is changed.', '');
    form.reset();
  };
  return (
    <Section title="Password">
      <form onSubmit={(event) => void submit(event)} className="flex max-w-form flex-col gap-4">
        {error && error.faults.length === 0 && <Problem error={error} title="The password was not changed" />}
        <Field
          label="Present password"
          name="current_password"
          type="password"
          autoComplete="current-password"
          required
        />
        <Field
          label="New password"
          name="new_password"
          type="password"
          autoComplete="new-password"
          hint="12 or more characters."
          required
          fault={faultOf(error, 'new_password')}
        />
        <div>
          <Button type="submit" isBusy={change.isSending}>
            Change the password
          </Button>
        </div>
      </form>
    </Section>
  );
}

function Credits({ workspaces }: { readonly workspaces: readonly Membership[] }) {
  return (
    <Section title="Credits" hint="The assistant and agents use credits. A workspace gets new ones each month.">
      <ul className="flex flex-col divide-y divide-line">
        {workspaces.map(({ id, name }) => (
          <li key={id} className="flex flex-wrap items-start justify-between gap-3 py-2">
            <span className="min-w-0 truncate">{name}</span>
            <WorkspaceContext value={id}>
              <CreditsLeft />
            </WorkspaceContext>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What the workspace has left, and how much of it the person may use. */
function CreditsLeft() {
  const credits = useOperation('getCredits', {});
  return (
    <div className="middle:text-right">
      <Panel read={credits} lines={1}>
        {({ remaining, monthly_limit, granted, period_end, own }) => (
          <>
            <p>
              {remaining === null || monthly_limit === null
                ? 'no limit'
                : `${formatNumber(remaining)} of ${formatNumber(monthly_limit + granted)} left until ${formatDay(period_end)}`}
            </p>
            {own && (
              <p className="text-dense text-quiet">
                you have used {formatNumber(own.used)}
                {own.credit_limit !== null && ` of the ${formatNumber(own.credit_limit)} that you may use`}
              </p>
            )}
          </>
        )}
      </Panel>
    </div>
  );
}

/** The day in the time zone in which months begin. */
const formatDay = (time: string): string =>
  new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long', timeZone: 'UTC' }).format(new Date(time));

function Sessions() {
  const sessions = useOperation('listBrowserSessions', {});
  const endOne = useChange('endBrowserSession');
  const endOthers = useChange('endOtherBrowserSessions');
  return (
    <Section
      title="Signed-in browsers"
      actions={
        <Button
          isBusy={endOthers.isSending}
          onClick={async () =>
            sayOutcome(await endOthers.perform({}), 'All other browsers are signed out.', 'No browser was signed out.')
          }
        >
          Sign out all others
        </Button>
      }
    >
      <Panel read={sessions} lines={2} empty="No browser is signed in.">
        {(items) => (
          <ul className="flex flex-col divide-y divide-line">
            {items.map((session) => (
              <li key={session.id} className="flex flex-wrap items-center justify-between gap-3 py-2">
                <span className="flex min-w-0 flex-col">
                  <span className="truncate">{session.browser ?? 'Unknown browser'}</span>
                  <span className="text-dense text-quiet">
                    signed in <Since time={session.created_date} />
                  </span>
                </span>
                {session.current ? (
                  <Badge tone="good">this one</Badge>
                ) : (
                  <Button
                    kind="quiet"
                    isBusy={endOne.isSending}
                    onClick={async () =>
                      sayOutcome(
                        await endOne.perform({ session_id: session.id }),
                        'Signed out there.',
                        'The browser was not signed out.',
                      )
                    }
                  >
                    Sign out
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Panel>
    </Section>
  );
}
