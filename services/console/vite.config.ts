import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The admin API serves what is built from this folder of its package, under /console/.
export default defineConfig({
  base: "/console/",
  plugins: [react()],
  build: {
    outDir: "../admin_api/src/graphtide_admin_api/console_files",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: "es2022",
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/console/config.json": "http://127.0.0.1:8080" } },
});
