// Starts the console: providers around the routes.
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createConsoleRouter } from './routes.tsx';
import { Gate } from './shell/gate.tsx';
import { Outcomes } from './ui/outcome.tsx';
import './ui/tokens.css';

// The SDK repeats what can be repeated.
const cache = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 2_000 } } });
const router = createConsoleRouter();

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={cache}>
        <Outcomes>
          <Gate>
            <RouterProvider router={router} />
          </Gate>
        </Outcomes>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
