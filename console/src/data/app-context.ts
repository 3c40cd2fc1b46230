// The app of the editor: every screen in it reads the same answer.
import { useQueryClient } from '@tanstack/react-query';
import { createContext, use } from 'react';
import type { Data } from './client.ts';
import { mayDiffer } from './use-change.ts';

export type App = Data<'getApp'>;

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = use(AppContext);
  if (app === undefined) throw new Error('a screen of the editor was drawn without its app');
  return app;
}

/** Returns a function that lets everything that was read of an app be read again. */
export function useReadAgain(app_id: string): () => Promise<void> {
  const cache = useQueryClient();
  return () => cache.invalidateQueries({ predicate: ({ queryKey }) => mayDiffer(queryKey, { app_id }) });
}
