// Stands before all screens: sets up a new installation, signs people in, and signs them in again over the page when
// their session has ended.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useEffect, useState } from 'react';
import type { Data } from '../data/client.ts';
import { readPref } from '../data/prefs.ts';
import { operationQuery } from '../data/use-operation.ts';
import { Dialog } from '../ui/dialog.tsx';
import { say } from '../ui/outcome.tsx';
import { Loading } from '../ui/panel.tsx';
import { Problem } from '../ui/problem.tsx';
import { SetUpForm, SignInForm, StartPage } from './start.tsx';

const MeContext = createContext<Data<'getMe'> | undefined>(undefined);

/** The signed-in person. Screens are only drawn once they are known. */
export function useMe(): Data<'getMe'> {
  const me = use(MeContext);
  if (me === undefined) throw new Error('a screen was drawn before the person was known');
  return me;
}

/** The workspace in which the person was last, or the first of theirs. Undefined for a member of none. */
export function useLastWorkspace(): string | undefined {
  const { workspaces } = useMe();
  const last = readPref('workspace');
  return (workspaces.find(({ id }) => id === last) ?? workspaces[0])?.id;
}

export function Gate({ children }: { readonly children: ReactNode }) {
  const cache = useQueryClient();
  const me = useQuery(operationQuery('getMe', {}));
  // While this is asked again, a form that was sent stays, with what it says.
  const [wasSignedOut, setWasSignedOut] = useState(false);
  const isRefused = me.error?.status === 401;
  if (!me.isPending && isRefused !== wasSignedOut) setWasSignedOut(isRefused);
  const isSignedOut = isRefused || (me.isPending && wasSignedOut);
  const setup = useQuery({ ...operationQuery('getSetup', {}), enabled: isSignedOut });

  // The page that sets a password leads here. Whose password it was is said, because the link may have been somebody else's.
  const email = me.data?.data.user.email;
  useEffect(() => {
    if (email === undefined || location.hash !== '#password-set') return;
    history.replaceState(history.state, '', location.pathname + location.search);
    say('good', `Your password is set, and you are signed in as ${email}.`);
  }, [email]);

  // Another read that is refused because nobody is signed in tells the same.
  useEffect(
    () =>
      cache.getQueryCache().subscribe(({ type, query }) => {
        if (type !== 'updated' || query.queryKey[0] === 'getMe') return;
        if ((query.state.error as { status?: number } | null)?.status !== 401) return;
        if (cache.getQueryState(operationQuery('getMe', {}).queryKey)?.fetchStatus === 'idle')
          void cache.invalidateQueries({ queryKey: ['getMe'] });
      }),
    [cache],
  );

  if (me.data !== undefined)
    return (
      <MeContext value={me.data.data}>
        {children}
        <Dialog isOpen={isSignedOut} title="Sign in again">
          <p className="text-quiet">Your session has ended. What you typed on this page is still there.</p>
          <SignInForm email={me.data.data.user.email} />
        </Dialog>
      </MeContext>
    );
  if ((me.isPending && !isSignedOut) || (isSignedOut && setup.isPending))
    return (
      <StartPage>
        <Loading />
      </StartPage>
    );
  if (!isSignedOut && me.error)
    return (
      <StartPage>
        <Problem error={me.error} onAgain={() => void me.refetch()} />
      </StartPage>
    );
  return <StartPage>{setup.data?.data.initialised === false ? <SetUpForm /> : <SignInForm isPage />}</StartPage>;
}
