// Signing out, and back to the start.
import { useChange } from '../data/use-change.ts';

export function useSignOut(): () => Promise<void> {
  const signOut = useChange('signOut');
  return async () => {
    await signOut.perform({});
    location.assign('/');
  };
}
