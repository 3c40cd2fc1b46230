// The signed-in person, whom the shell has read before it draws any screen.
import { useQuery } from '@tanstack/react-query';
import type { Data } from './client.ts';
import { operationQuery } from './use-operation.ts';

export const useSignedIn = (): Data<'getMe'>['user'] | undefined =>
  useQuery({ ...operationQuery('getMe', {}), staleTime: Infinity }).data?.data.user;
