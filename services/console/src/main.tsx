import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { ProblemError } from "./api/problems";
import { App } from "./App";
import { loadConfiguration } from "./configuration";
import "./style.css";
import { applyTheme } from "./theme";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Asking again helps where nothing answered; an error that the service states stays the same.
      retry: (failures, error) => !(error instanceof ProblemError) && failures < 2,
      refetchOnWindowFocus: false,
      structuralSharing: true,
    },
  },
});

applyTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
const configuration = await loadConfiguration();
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App configuration={configuration} />
    </QueryClientProvider>
  </StrictMode>,
);
