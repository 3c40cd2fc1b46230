// Reads an operation: the whole answer with its notes and its time, kept in the cache under the operation and its
// arguments.
import { infiniteQueryOptions, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import {
  type AnswerOf,
  type Args,
  type Caller,
  type Data,
  type Name,
  type PlinthError,
  send,
  useCaller,
} from './client.ts';

export interface ReadOptions {
  /** How often the answer is read again while the tab is visible. */
  readonly every?: number | undefined;
  /** False postpones the read. */
  readonly when?: boolean;
}

/** What a panel draws: the last answer, its age, and what went wrong since. */
export interface Read<Shown> {
  readonly data: Shown | undefined;
  readonly notes: AnswerOf<Name>['notes'] | undefined;
  /** When the answer arrived, in milliseconds; 0 if none did. */
  readonly readAt: number;
  readonly error: PlinthError | null;
  readonly isReading: boolean;
  readonly every: number | undefined;
  again(): void;
}

const toKey = (name: Name, caller: Caller, args: object) => [name, caller, args] as const;

const nobodyYet: Caller = { workspaceId: undefined, appUser: undefined };

export const operationQuery = <N extends Name>(name: N, args: Args<N>, caller = nobodyYet) =>
  queryOptions<AnswerOf<N>, PlinthError>({
    queryKey: toKey(name, caller, args),
    queryFn: ({ signal }) => send(caller, name, args, { signal }).answer(),
  });

export function useOperation<N extends Name>(
  name: N,
  args: Args<N>,
  { every, when = true }: ReadOptions = {},
): Read<Data<N>> {
  const caller = useCaller();
  const query = useQuery({
    ...operationQuery(name, args, caller),
    enabled: when,
    refetchInterval: every ?? false,
  });
  return {
    data: query.data?.data,
    notes: query.data?.notes,
    readAt: query.dataUpdatedAt,
    error: query.error,
    isReading: query.isFetching,
    every,
    again: () => void query.refetch(),
  };
}

export type Item<N extends Name> = Data<N> extends { readonly items: readonly (infer I)[] } ? I : never;

/** The operations that answer with pages. Others answer with the whole list. */
export type PagedName = {
  [N in Name]: Data<N> extends { readonly items: readonly unknown[]; readonly next_cursor: string | null } ? N : never;
}[Name];

export interface ReadPages<Shown, First = unknown> extends Read<readonly Shown[]> {
  /** The answer with the first page, which may say more than its items. */
  readonly first: First | undefined;
  readonly hasMore: boolean;
  readonly isReadingMore: boolean;
  more(): void;
}

export const listItems = <N extends PagedName>(page: Data<N>): readonly Item<N>[] =>
  (page as unknown as { items: readonly Item<N>[] }).items;

/** Reads a list page by page. */
export function usePages<N extends PagedName>(
  name: N,
  args: Args<N>,
  { every, when = true }: ReadOptions = {},
): ReadPages<Item<N>, Data<N>> {
  const caller = useCaller();
  const query = useInfiniteQuery(
    infiniteQueryOptions<AnswerOf<N>, PlinthError, { pages: AnswerOf<N>[] }, readonly unknown[], string | undefined>({
      queryKey: [...toKey(name, caller, args), 'pages'],
      queryFn: ({ signal, pageParam }) =>
        send(caller, name, { ...args, ...(pageParam !== undefined && { cursor: pageParam }) }, { signal }).answer(),
      initialPageParam: undefined,
      getNextPageParam: ({ data }) => (data as { next_cursor?: string | null }).next_cursor ?? undefined,
      enabled: when,
      refetchInterval: every ?? false,
    }),
  );
  const pages = query.data?.pages;
  return {
    data: pages?.flatMap(({ data }) => listItems<N>(data)),
    first: pages?.[0]?.data,
    notes: pages?.[0]?.notes,
    readAt: query.dataUpdatedAt,
    error: query.error,
    isReading: query.isFetching,
    every,
    again: () => void query.refetch(),
    hasMore: query.hasNextPage,
    isReadingMore: query.isFetchingNextPage,
    more: () => void query.fetchNextPage(),
  };
}
