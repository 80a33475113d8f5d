"""What `spark-submit` runs in the image `graphtide-spark`: the job that puts streams in order."""

from graphtide_preprocess.__main__ import main

main()
