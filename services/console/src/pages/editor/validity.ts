/** The service's check of a text, a moment after one stopped typing. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { api, bodyOf } from "../../api/client";

const PAUSE = 250;

export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

export function useValidity(text: string) {
  const settled = useSettled(text);
  return useQuery({
    queryKey: ["validity", settled],
    queryFn: () => bodyOf(api.POST("/api/v1/patterns:validate", { body: { text: settled } })),
    enabled: settled.trim() !== "",
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}
