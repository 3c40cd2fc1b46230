// The address of the screen that is drawn, for boundaries: a failed screen is not drawn again, the next one is.
import { useRouterState } from '@tanstack/react-router';

/** While the next screen loads, the address is that of the next and the screen still the last one, so both count. */
export const usePlace = (): string =>
  useRouterState({ select: ({ location, resolvedLocation }) => `${location.pathname} ${resolvedLocation?.pathname}` });
