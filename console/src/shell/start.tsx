// What is shown before anybody is signed in: the form that sets up a new installation, and sign-in.
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';
import type { PlinthError } from '../data/client.ts';
import { keepPref } from '../data/prefs.ts';
import { useChange } from '../data/use-change.ts';
import plinth from '../plinth.svg';
import { ToneIcon, toneClass } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { classNames } from '../ui/class-names.ts';
import { Field, faultOf } from '../ui/field.tsx';
import { InboxLink } from '../ui/inbox-link.tsx';
import { Problem } from '../ui/problem.tsx';
import { plural } from '../ui/times.ts';

export function StartPage({ children }: { readonly children: ReactNode }) {
  return (
    <main className="mx-auto flex min-h-full w-full max-w-form flex-col justify-center gap-6 p-4">
      <div className="flex items-center justify-center gap-2 text-heading font-semibold">
        <img src={plinth} alt="" width={32} height={32} />
        Plinth
      </div>
      <div className="rounded-large border border-line bg-card p-6 shadow-card">{children}</div>
    </main>
  );
}

const readText = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? '');

/** After signing in, everything is read as the person who has signed in. */
function useEntered() {
  const cache = useQueryClient();
  return () => cache.invalidateQueries();
}

interface SignInProps {
  /** The address of the person whose session has ended. */
  readonly email?: string;
  readonly isPage?: boolean;
}

export function SignInForm({ email: known = '', isPage = false }: SignInProps) {
  const signIn = useChange('signIn');
  const enter = useEntered();
  const [email, setEmail] = useState(known);
  const [isForgotten, setForgotten] = useState(isPage && location.hash === '#forgot-password');
  useEffect(() => {
    if (isPage) document.title = 'Sign in · Plinth';
  }, [isPage]);
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const ended = await signIn.perform({ email, password: readText(event.currentTarget, 'password') });
    if (ended.kind !== 'done') return;
    keepPref('wayBack', undefined);
    await enter();
  };
  if (isForgotten) return <ForgottenForm email={email} onEmail={setEmail} onBack={() => setForgotten(false)} />;
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
      {isPage && <h1 className="text-heading font-semibold">Sign in</h1>}
      {signIn.error && <SignInProblem error={signIn.error} />}
      <EmailField email={email} onEmail={setEmail} autoFocus={email === ''} />
      <Field
        label="Password"
        name="password"
        type="password"
        autoComplete="current-password"
        required
        autoFocus={email !== ''}
      />
      <Button type="submit" kind="primary" isBusy={signIn.isSending}>
        Sign in
      </Button>
      {isPage && (
        <Button kind="quiet" onClick={() => setForgotten(true)}>
          Forgotten your password?
        </Button>
      )}
    </form>
  );
}

interface EmailProps {
  readonly email: string;
  onEmail(email: string): void;
}

const EmailField = ({ email, onEmail, autoFocus }: EmailProps & { readonly autoFocus: boolean }) => (
  <Field
    label="E-mail address"
    name="email"
    type="email"
    autoComplete="username"
    value={email}
    onChange={({ target }) => onEmail(target.value)}
    required
    autoFocus={autoFocus}
  />
);

const SignInProblem = ({ error }: { readonly error: PlinthError }) =>
  error.status === 429 ? <OneMoment seconds={error.retryAfterSeconds ?? 60} /> : <Problem error={error} />;

/** Counts the seconds of one refusal: it is not drawn while the next request is on its way. */
function OneMoment({ seconds }: { readonly seconds: number }) {
  const [until] = useState(() => Date.now() + seconds * 1_000);
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    const timer = setInterval(() => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1_000))), 500);
    return () => clearInterval(timer);
  }, [until]);
  return (
    <div role="alert" className={classNames('flex gap-3 rounded-medium p-3', toneClass('wait'))}>
      <ToneIcon tone="wait" />
      <p>
        One moment… There were too many attempts to sign in, with this e-mail address or from your network.{' '}
        <span aria-live="off">
          {left === 0 ? 'You can try again now.' : `You can try again in ${formatWait(left)}.`}
        </span>
      </p>
    </div>
  );
}

/** Example: "4 seconds", or "15 minutes" for what nobody wants to count. */
const formatWait = (seconds: number): string =>
  seconds > 90 ? plural(Math.ceil(seconds / 60), 'minute', 'minutes') : plural(seconds, 'second', 'seconds');

function ForgottenForm({ email, onEmail, onBack }: EmailProps & { onBack(): void }) {
  const forgot = useChange('forgotPassword');
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    keepPref('wayBack', location.pathname + location.search);
    void forgot.perform({ email });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <h1 className="text-heading font-semibold">Set a new password</h1>
      {forgot.error && <Problem error={forgot.error} />}
      {forgot.ending && 'data' in forgot.ending ? (
        <>
          <p role="status">
            If an account has this address, a link is on its way to it. The link is valid for an hour.
          </p>
          <InboxLink />
        </>
      ) : (
        <>
          <p className="text-quiet">We send a link to your e-mail address. With it you choose a new password.</p>
          <EmailField email={email} onEmail={onEmail} autoFocus />
          <Button type="submit" kind="primary" isBusy={forgot.isSending}>
            Send the link
          </Button>
        </>
      )}
      <Button kind="quiet" onClick={onBack}>
        Back to sign-in
      </Button>
    </form>
  );
}

export function SetUpForm() {
  const setUp = useChange('setUp');
  const enter = useEntered();
  useEffect(() => {
    document.title = 'Set up · Plinth';
  }, []);
  const { error } = setUp;
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const names = ['setup_token', 'workspace_name', 'full_name', 'email', 'password'] as const;
    const args = Object.fromEntries(names.map((name) => [name, readText(form, name)])) as Record<
      (typeof names)[number],
      string
    >;
    const ended = await setUp.perform(args);
    if (ended.kind === 'done') await enter();
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
      <div className="flex flex-col gap-1">
        <h1 className="text-heading font-semibold">Set up this installation</h1>
        <p className="text-quiet">You become its first user and its operator.</p>
      </div>
      {error && error.faults.length === 0 && <Problem error={error} />}
      <Field
        label="Set-up token"
        name="setup_token"
        hint="The API prints it to its log when it starts."
        fault={faultOf(error, 'setup_token')}
        autoComplete="off"
        required
        autoFocus
      />
      <Field
        label="Workspace"
        name="workspace_name"
        hint="The name of your team or company."
        fault={faultOf(error, 'workspace_name')}
        autoComplete="organization"
        required
      />
      <Field label="Your name" name="full_name" fault={faultOf(error, 'full_name')} autoComplete="name" required />
      <Field
        label="E-mail address"
        name="email"
        type="email"
        fault={faultOf(error, 'email')}
        autoComplete="username"
        required
      />
      <Field
        label="Password"
        name="password"
        type="password"
        hint="12 or more characters."
        fault={faultOf(error, 'password')}
        autoComplete="new-password"
        required
      />
      <Button type="submit" kind="primary" isBusy={setUp.isSending}>
        Set up
      </Button>
    </form>
  );
}
