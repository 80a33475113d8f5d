"""The loop of every process, and HTTP: its protection, who may call, health, problem documents."""
