"""Images as tests see them: a Dockerfile's own steps, carried out into folders of this machine without any engine."""
